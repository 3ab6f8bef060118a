"""The chaos suite: seven services, a nats-server and a mongod under SIGKILL, judged by external systems alone."""
