# All databases at one point in time. From the primary: a secondary may be behind the streams that were read before.
set -eu
umask 077
printf 'password: "%s"\n' "$(cat /run/mongo/password)" > /tmp/password.yaml
mongodump --uri "$ROTA_MONGO_URL" --username rota_backup --authenticationDatabase admin --config /tmp/password.yaml \
  --oplog --gzip --archive=/backup/unfinished/mongodb.archive.gz
