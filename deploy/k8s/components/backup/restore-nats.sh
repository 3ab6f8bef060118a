# Every stream of the backup. One that is there already is an error: the topology comes after it.
set -eu
from=/backup/${BACKUP:-$(ls /backup | grep '^20' | sort | tail -n 1)}
for stream in "$from"/streams/*; do
  nats --server "$ROTA_NATS_URL" --tlsca "$ROTA_NATS_CA_FILE" --nkey /run/nats/nats.nk \
    stream restore --no-progress "$stream"
done
