"""An MCP server with two tools, over stdio."""

from mcp.server.fastmcp import FastMCP

server = FastMCP("calculator", log_level="WARNING")


@server.tool()
def add(first: float, second: float) -> float:
    """The sum of two numbers."""
    return first + second


@server.tool()
def multiply(first: float, second: float) -> float:
    """The product of two numbers."""
    return first * second


if __name__ == "__main__":
    server.run()
