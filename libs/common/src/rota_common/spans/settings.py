"""The settings of services that make spans."""

from typing import Literal

from pydantic import Field, field_validator

from rota_common.runtime.settings import ServiceSettings


class TraceSettings(ServiceSettings):
    """Spans are exported where an endpoint is set. `trace_content`: what of texts spans hold: nothing, the first 500
    characters of outputs, or also inputs as JSON, up to 50,000 characters."""

    otlp_endpoint: str = Field(default="", description="http://host:4318, of an OTLP/HTTP receiver; empty: no export")
    otlp_headers: str = Field(
        default="", repr=False, description="headers of each export, as name=value with commas between"
    )
    otlp_timeout: float = Field(default=10.0, gt=0, description="seconds that a receiver has to answer")
    trace_content: Literal["none", "preview", "verbose"] = "none"

    @field_validator("otlp_endpoint")
    @classmethod
    def _is_http(cls, given: str) -> str:
        if given and not given.startswith(("http://", "https://")):
            raise ValueError("expected ROTA_OTLP_ENDPOINT to begin with http:// or https://: gRPC is not spoken")
        return given

    @field_validator("otlp_headers")
    @classmethod
    def _are_pairs(cls, given: str) -> str:
        if any("=" not in pair for pair in given.split(",") if pair.strip()):
            raise ValueError("expected ROTA_OTLP_HEADERS as name=value with commas between, like authorization=Basic x")
        return given

    @property
    def otlp_header_map(self) -> dict[str, str]:
        pairs = (pair.partition("=") for pair in self.otlp_headers.split(",") if pair.strip())
        return {name.strip(): value.strip() for name, _, value in pairs}
