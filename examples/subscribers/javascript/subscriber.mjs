// Reads all that a team's robots deliver; started again, it goes on where it was. `npm ci`, then:
//
//   node subscriber.mjs --team TEAM --name NAME --key NAME.nk
//
// `rota feed-clients add TEAM NAME` makes the subscriber and its key.
import { readFileSync, existsSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { connect, nkeyAuthenticator } from "@nats-io/transport-node";
import { jetstream } from "@nats-io/jetstream";

const { values: given } = parseArgs({
  options: {
    url: { type: "string", default: "nats://127.0.0.1:4222" },
    team: { type: "string" },
    name: { type: "string" },
    key: { type: "string" },
    state: { type: "string", default: "seen.json" },
    idle: { type: "string", default: "30" }, // seconds to wait for news
    "until-idle": { type: "boolean", default: false },
  },
});
if (!given.team || !given.name || !given.key) {
  console.error("expected --team, --name and --key: see the beginning of this file");
  process.exit(2);
}

// A line instead of a stack. The library's own words for a wrong name or key are few.
function end(why) {
  console.error(why instanceof Error ? `NATS: ${why.message}: is --url the right server, and are --team, --name and --key those that \`rota feed-clients add\` printed?` : why);
  process.exit(1);
}

const seed = new TextEncoder().encode(readFileSync(given.key, "utf8").trim());
const client = await connect({
  servers: given.url,
  authenticator: nkeyAuthenticator(seed),
  name: given.name,
  maxReconnectAttempts: -1,
}).catch(end);
const consumers = jetstream(client, { apiPrefix: "rota.js" }).consumers;
const feed = await consumers.get("DELIVERIES", `${given.team}=${given.name}`).catch(end);

// The last count of every subject: in a program of yours, in the database that the work goes into.
const last = existsSync(given.state) ? JSON.parse(readFileSync(given.state, "utf8")) : {};

for (;;) {
  let some = false;
  let skipped = 0;
  for await (const message of await feed.fetch({ max_messages: 100, expires: Number(given.idle) * 1000 })) {
    some = true;
    const count = Number(message.headers.get("ce-sequence"));
    const before = last[message.subject] ?? 0;
    if (before && count > before + 1) {
      end(`expected number ${before + 1} of ${message.subject}, got ${count}: was this place moved on, or does another program read under this name?`);
    }
    if (count > before) {
      const fact = message.json();
      console.log(
        JSON.stringify({
          subject: message.subject,
          count,
          id: message.headers.get("ce-id"),
          request_id: fact.request_id,
        }),
      );
      last[message.subject] = count;
      writeFileSync(given.state, JSON.stringify(last));
    } else {
      skipped += 1;
    }
    await message.ackAck();
  }
  if (skipped) console.error(`${skipped} skipped, as ${given.state} has them: to read them again, remove it`);
  if (!some && given["until-idle"]) break;
}
await client.close();
