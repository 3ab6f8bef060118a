#!/bin/sh
# Post an event to Rota as any system can: curl, and a Standard Webhooks signature made with openssl.
#   LEADS_SECRET=whsec_… ./post_webhook.sh http://127.0.0.1:8080/v1/hooks/main/leads lead.created events/lead-created.json
set -eu
url=$1 type=$2 file=$3
: "${LEADS_SECRET:?expected the signing secret of the source, like whsec_ and base64}"

id="msg_$(openssl rand -hex 12)"
now=$(date +%s)
body=$(printf '{"type":"%s","timestamp":"%s","data":%s}' "$type" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$(cat "$file")")
# The secret is base64 after whsec_; openssl wants the key as hexadecimal digits.
key=$(printf '%s' "${LEADS_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n')
signature=$(printf '%s.%s.%s' "$id" "$now" "$body" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)

printf '%s' "$body" | curl --silent --show-error --fail-with-body "$url" \
  -H 'content-type: application/json' \
  -H "webhook-id: $id" -H "webhook-timestamp: $now" -H "webhook-signature: v1,$signature" \
  --data-binary @-
echo
