"""The payloads: what services tell and ask each other, one module per noun."""
