# A new backup grows in `unfinished`; what an interrupted one has left there goes.
set -eu
umask 077
cd "${BACKUPS:-/backup}"
rm -rf unfinished
mkdir unfinished
