"""URLs as they are printed."""


def without_password(url: str) -> str:
    """The URL without the user and password before its host."""
    scheme, _, rest = url.partition("://")
    host, question, query = rest.rpartition("@")[2].partition("?")
    return f"{scheme}://{host}{question}{query}"
