# The image of one service: docker build --build-arg SERVICE=executor -t rota/executor .
FROM python:3.11-slim AS build
ARG SERVICE
WORKDIR /app
COPY requirements/build.txt requirements/
RUN pip install --quiet --require-hashes -r requirements/build.txt
COPY requirements/${SERVICE}.txt requirements/
# Bytecode in the image: without it each start compiles all that it imports, and keeps some of what that took.
ENV UV_COMPILE_BYTECODE=1 PYC_INVALIDATION_MODE=UNCHECKED_HASH
RUN uv venv --quiet --python "$(command -v python)" .venv
RUN uv pip install --quiet --python .venv/bin/python --require-hashes -r requirements/${SERVICE}.txt
COPY contracts contracts
COPY libs/common libs/common
COPY services/${SERVICE} services/${SERVICE}
# Wheels, not links: what runs is exactly what the packages hold, data files too.
RUN pip wheel --quiet --no-deps --no-build-isolation -w wheels ./contracts ./libs/common ./services/${SERVICE}
# Without uv's notes of when these wheels were made: two builds have the same files.
RUN uv pip install --quiet --python .venv/bin/python --no-deps wheels/*.whl \
    && cd .venv/lib/python3*/site-packages && rm rota_*.dist-info/uv_cache.json && sed -i /uv_cache.json/d rota_*.dist-info/RECORD
COPY requirements/sbom.py requirements/
RUN python3 requirements/sbom.py ${SERVICE} > sbom.cdx.json
# A package's name has underscores where the service's has dashes.
RUN printf '#!/bin/sh\nexec python -m %s\n' "$(echo ${SERVICE} | tr - _)" > .venv/bin/serve && chmod +x .venv/bin/serve

FROM python:3.11-slim
# The date of the user's making is the same in each build, too.
RUN SOURCE_DATE_EPOCH=86400 useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin rota \
    # A volume that is mounted here for the first time belongs to the service.
    && install -d -o 10001 -g 10001 -m 0700 /var/lib/rota
WORKDIR /app
COPY --from=build /app/.venv .venv
COPY --from=build /app/sbom.cdx.json .
ENV PATH=/app/.venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# One heap for all threads, given back when it is free: some 7 MB less for each service.
ENV MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=65536
USER 10001
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
    CMD python -c "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ.get('ROTA_HTTP_PORT', '8080') + '/health/live', timeout=2)"
CMD ["serve"]
# `make images` gives version and revision, which only the checkout knows; other builds leave them empty.
ARG SERVICE
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.title="rota-${SERVICE}" \
    org.opencontainers.image.description="The ${SERVICE} of Rota; /app/sbom.cdx.json lists its packages" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}"
