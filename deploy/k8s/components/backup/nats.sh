# The streams that are named, with their consumers.
set -eu
umask 077
for stream in "$@"; do
  nats --server "$ROTA_NATS_URL" --tlsca "$ROTA_NATS_CA_FILE" --nkey /run/nats/nats.nk --inbox-prefix _INBOX_backup \
    stream backup --no-progress "$stream" "/backup/unfinished/streams/$stream"
done
