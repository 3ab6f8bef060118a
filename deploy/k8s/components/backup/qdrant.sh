# A snapshot of each collection.
set -eu
umask 077
scratch=${TMPDIR:-/tmp}
folder=${BACKUPS:-/backup}/unfinished/qdrant
mkdir -p "$folder"
printf 'api-key: %s' "$QDRANT_API_KEY" > "$scratch/header"
ask() { curl --fail --silent --show-error --header "@$scratch/header" "$@"; }
names() { tr '{,}' '\n\n\n' | sed -n 's/^ *"name": *"\([^"]*\)".*/\1/p'; }
ask "$ROTA_QDRANT_URL/collections" > "$scratch/collections"
for collection in $(names < "$scratch/collections"); do
  ask --request POST "$ROTA_QDRANT_URL/collections/$collection/snapshots" > "$scratch/snapshot"
  snapshot=$(names < "$scratch/snapshot")
  ask --output "$folder/$collection.snapshot" "$ROTA_QDRANT_URL/collections/$collection/snapshots/$snapshot"
  ask --request DELETE --output /dev/null "$ROTA_QDRANT_URL/collections/$collection/snapshots/$snapshot"
done
