"""MongoDB, NATS and the Standard Webhooks library behind the gateway's ports; and fakes of them."""
