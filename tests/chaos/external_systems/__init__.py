"""External systems: a model, tools, processes, receivers and a mailbox. They outlive every kill, and count."""
