# Every collection of the backup, in the place of what is there under its name.
set -eu
umask 077
scratch=${TMPDIR:-/tmp}
backups=${BACKUPS:-/backup}
from=$backups/${BACKUP:-$(ls "$backups" | grep '^20' | sort | tail -n 1)}
printf 'api-key: %s' "$QDRANT_API_KEY" > "$scratch/header"
for snapshot in "$from"/qdrant/*.snapshot; do
  [ -e "$snapshot" ] || continue
  collection=$(basename "$snapshot" .snapshot)
  curl --fail --silent --show-error --header "@$scratch/header" --form "snapshot=@$snapshot" \
    "$ROTA_QDRANT_URL/collections/$collection/snapshots/upload?priority=snapshot"
done
