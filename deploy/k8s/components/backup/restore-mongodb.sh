# The whole dump, into a MongoDB that holds nothing of Rota.
set -eu
umask 077
from=/backup/${BACKUP:-$(ls /backup | grep '^20' | sort | tail -n 1)}
echo "restoring $from"
printf 'password: "%s"\n' "$(tr -d '\n ' < /run/mongo-key/key)" > /tmp/password.yaml
there=$(KEY=$(tr -d '\n ' < /run/mongo-key/key) mongosh "$ROTA_MONGO_URL" --quiet --eval '
  db.getSiblingDB("local").auth("__system", process.env.KEY)
  db.adminCommand({listDatabases: 1, nameOnly: true}).databases.map(one => one.name).filter(name => name.startsWith("rota_")).join(" ")')
if [ -n "$there" ]; then
  echo "expected a MongoDB without Rota's databases, found $there: a restore goes into new servers" >&2
  exit 1
fi
mongorestore --uri "$ROTA_MONGO_URL" --username __system --authenticationDatabase local --config /tmp/password.yaml \
  --oplogReplay --gzip --archive="$from/mongodb.archive.gz"
