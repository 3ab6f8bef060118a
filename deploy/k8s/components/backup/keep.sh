# Names the backup by its instant, if every part is there, and keeps the newest KEEP.
set -eu
cd "${BACKUPS:-/backup}"
for part in mongodb.archive.gz qdrant $PARTS; do
  if ! [ -s "unfinished/$part" ]; then
    echo "the backup has no $part: it isn't kept" >&2
    exit 1
  fi
done
name=$(date -u +%Y-%m-%dT%H%M%SZ)
mv unfinished "$name"
ls -d 20??-??-??T??????Z | sort -r | tail -n "+$((KEEP + 1))" | while read -r old; do rm -rf "$old"; done
echo "$name: $(du -sh "$name" | cut -f1), $(ls -d 20??-??-??T??????Z | wc -l) kept"
