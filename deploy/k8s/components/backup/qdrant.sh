# A snapshot of each collection.
set -eu
umask 077
folder=${BACKUPS:-/backup}/unfinished/qdrant
mkdir -p "$folder"
printf 'api-key: %s' "$QDRANT_API_KEY" > /tmp/header
ask() { curl --fail --silent --show-error --header @/tmp/header "$@"; }
names() { tr '{,}' '\n\n\n' | sed -n 's/^ *"name": *"\([^"]*\)".*/\1/p'; }
ask "$ROTA_QDRANT_URL/collections" > /tmp/collections
for collection in $(names < /tmp/collections); do
  ask --request POST "$ROTA_QDRANT_URL/collections/$collection/snapshots" > /tmp/snapshot
  snapshot=$(names < /tmp/snapshot)
  ask --output "$folder/$collection.snapshot" "$ROTA_QDRANT_URL/collections/$collection/snapshots/$snapshot"
  ask --request DELETE --output /dev/null "$ROTA_QDRANT_URL/collections/$collection/snapshots/$snapshot"
done
