// A short walk through a running service with the client that openapi-typescript makes:
// node walk.js <address> <key>
import createClient from "openapi-fetch";
import type { paths, webhooks } from "./api.js";

type Event = webhooks["tweet.detected"]["post"]["requestBody"]["content"]["application/json"];

const [baseUrl, key] = process.argv.slice(2);
const api = createClient<paths>({ baseUrl, headers: { "x-api-key": key } });

function want(ok: boolean, what: string): asserts ok {
	if (!ok) throw new Error(what);
}

const health = await api.GET("/v1/social/health");
want(health.data?.status === "ok", "health");

const made = await api.POST("/v1/social/stream/monitors", {
	params: { header: { "Idempotency-Key": crypto.randomUUID() } },
	body: { name: "walk ts", usernames: ["nasa"] },
});
want(made.data !== undefined, `create: ${made.error?.detail}`);
const path = { monitor_id: made.data.id };

const paused = await api.PATCH("/v1/social/stream/monitors/{monitor_id}", { params: { path }, body: { status: "paused" } });
want(paused.data?.status_reason === "paused_by_user", "pause");

const list = await api.GET("/v1/social/stream/monitors", { params: { query: { status: "paused", page_size: 100 } } });
want(list.data?.monitors.some((m) => m.id === path.monitor_id) === true, "list");

const deleted = await api.DELETE("/v1/social/stream/monitors/{monitor_id}", { params: { path } });
want(deleted.response.status === 204, "delete");

const gone = await api.GET("/v1/social/stream/monitors/{monitor_id}", { params: { path } });
want(gone.response.status === 404 && gone.error?.detail === "monitor not found", "get");

const event: Partial<Event> = { event: "tweet.detected", latency_ms: 640 };
console.log(`openapi-typescript: ${event.event}, walked`);
