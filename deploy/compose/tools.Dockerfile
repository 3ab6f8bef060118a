# The command `rota` for an operator inside Compose's network; docker-compose.yml has it as `tools`. Of the services it holds those
# whose stored documents `rota upgrade --check` reads.
FROM python:3.11-slim AS build
WORKDIR /app
COPY requirements/build.txt requirements/
RUN pip install --quiet --require-hashes -r requirements/build.txt
COPY requirements/tools.txt requirements/
RUN uv venv --quiet --python "$(command -v python)" .venv
RUN uv pip install --quiet --python .venv/bin/python --require-hashes -r requirements/tools.txt
COPY contracts contracts
COPY libs/common libs/common
COPY services services
COPY cli cli
RUN pip wheel --quiet --no-deps --no-build-isolation -w wheels ./contracts ./libs/common ./cli \
    ./services/trigger-gateway ./services/scheduler ./services/executor ./services/delivery-center
RUN uv pip install --quiet --python .venv/bin/python --no-deps wheels/*.whl

FROM python:3.11-slim
WORKDIR /app
COPY --from=build /app/.venv .venv
ENV PATH=/app/.venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
CMD ["rota", "--help"]
