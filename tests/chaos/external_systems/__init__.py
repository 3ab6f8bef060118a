"""Who Rota works with: a model, tools, processes, receivers and a mailbox. They outlive every kill, and count."""
