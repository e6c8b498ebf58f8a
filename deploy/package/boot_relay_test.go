package deploypackage

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

const relayBoxConfig = `receiver: { listen: "" }
metrics: { listen: "127.0.0.1:9421" }
source: { url: "http://127.0.0.1:8443", token_file: box.token }
venues: [ { id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11, name: Harbour Grill, timezone: UTC } ]
logs: [ { name: kitchen, to: "file:///var/log/ticketrail/kitchen.jsonl" } ]
fallback: kitchen
`

// TestAnOrderComesThroughANodeARelayAndABoxInstalledAsTheirREADMESays follows deploy/relay/README.md, with all on one
// machine and one node instead of three. Each step needs those before it.
func TestAnOrderComesThroughANodeARelayAndABoxInstalledAsTheirREADMESays(t *testing.T) {
	machine, files := bootWith(t, relayBoxConfig)
	b := &relayBox{box: machine, path: "/webhooks/print"}
	run(t, "sh", "-c", `cp "$(go tool -n nats-server)" "$0"`, filepath.Join(files, "nats-server"))

	// The node.
	b.do(`dpkg --install /mnt/old.deb
		cd /root && mkdir relay && cd relay && cp /usr/share/doc/ticketrail/examples/relay/* .
		head -c 24 /dev/urandom | base64 | tr +/ -_ >nats.password
		head -c 24 /dev/urandom | base64 | tr +/ -_ >relay.secret
		sed --in-place "s/CHANGE-ME/$(cat nats.password)/; /^cluster/,/^}/d" nats.conf
		sed --in-place 's/10.0.0.11/127.0.0.1/; s/4GiB/256MiB/
			s|^  urls:.*|  urls: ["nats://127.0.0.1:4222"]\n  replicas: 1|' relay.yaml
		install -m755 /mnt/nats-server /usr/local/bin/
		useradd --system --home-dir /var/lib/nats --shell /usr/sbin/nologin nats
		install -d -m750 -g nats /etc/nats
		install -m640 -g nats nats.conf /etc/nats/
		install -m644 nats-server.service /etc/systemd/system/
		systemctl enable --now nats-server`)
	b.until("the node is well", func() bool {
		out, _ := b.try("curl --silent http://127.0.0.1:8222/healthz")
		return out == `{"status":"ok"}`
	})

	// The relay: the unit has started when it takes orders.
	b.do("cd /root/relay && install -m640 -g ticketrail relay.yaml nats.password relay.secret /etc/ticketrail/")
	b.do("chmod 600 /etc/ticketrail/relay.yaml")
	b.fails("ticketrail relay check", "it cannot be read (/etc/ticketrail/relay.yaml: cannot be read")
	b.do("chmod 640 /etc/ticketrail/relay.yaml && systemctl enable --now ticketrail-relay")
	b.says("curl --silent --fail http://127.0.0.1:9321/readyz", "ready")
	b.says("ticketrail relay status", "1 of 1 have every request")

	// The venue and its box.
	b.do(`cd /root && ticketrail relay venues add 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11 --name "Harbour Grill"
		install -m640 -g ticketrail 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11.token /etc/ticketrail/box.token
		install -m640 -g ticketrail /mnt/ticketrail.yaml /etc/ticketrail/
		ticketrail check && systemctl restart ticketrail`)
	b.order()
	b.until("the relay has heard of the box", func() bool {
		return strings.Contains(b.do("ticketrail relay status"), "1 of 1 boxes are online")
	})

	// systemd starts a killed process again.
	for _, unit := range []string{"ticketrail-relay", "nats-server"} {
		killed := b.process(unit)
		b.do(fmt.Sprintf("kill -KILL %d", killed))
		b.again(unit, killed)
		b.order()
	}
	// A node that is stopped hands over its work, and ends by itself.
	b.do("systemctl restart nats-server")
	b.logs("--unit=nats-server", "Entering lame duck mode")
	b.logs("--unit=nats-server", "nats-server.service: Deactivated successfully")
	b.order()

	// A file with a mistake changes nothing, also not by its correct parts.
	relay := b.process("ticketrail-relay")
	b.do(`cd /etc/ticketrail && sed --in-place 's|^receiver:|&\n  path: /webhooks/kitchen|' relay.yaml
		echo 'printers: []' >>relay.yaml`)
	b.fails("systemctl reload ticketrail-relay", "Job for ticketrail-relay.service failed")
	b.logs("--unit=ticketrail-relay", "printers: unknown key")
	b.order()
	b.says("dpkg --install /mnt/new.deb", "ticketrail-relay.service: NOT restarted")
	b.do("sed --in-place /^printers/d /etc/ticketrail/relay.yaml && systemctl reload ticketrail-relay")
	b.path = "/webhooks/kitchen"
	b.order()
	if now := b.process("ticketrail-relay"); now != relay {
		t.Fatalf("process %d became %d", relay, now)
	}

	// An upgrade restarts the relay.
	b.do("dpkg --install /mnt/old.deb")
	b.again("ticketrail-relay", relay)
	b.order()

	lines := b.do("wc --lines </var/log/ticketrail/kitchen.jsonl")
	assert.Equal(t, lines, fmt.Sprint(b.sent), b.sent, b.do("cat /var/log/ticketrail/kitchen.jsonl"))
	assert.Equal(t, b.do("systemctl list-units --failed --quiet 'ticketrail*' 'nats*'"), "")
}

// A relayBox is a machine with a node, a relay and a box, whose station writes a line for each order.
type relayBox struct {
	*box
	path string // of the webhook, before the secret
	sent int
}

// order posts an order until it is answered 200, as the service tries again, and waits until it is at the station.
func (b *relayBox) order() {
	b.t.Helper()
	b.sent++
	id := fmt.Sprintf("9b2e7c1a-4f0d-4c53-8d8e-%012d", b.sent)
	post := `curl --silent --show-error --fail --max-time 5 --header 'content-type: application/json' \
		--header 'x-svc-venueid: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11' --header 'x-svc-device-id: bar' \
		--data '{"records": [ {"id": "` + id + `", "items": [ {"name": "Soup", "quantity": 1} ]} ]}' \
		http://127.0.0.1:8443` + b.path + `/$(head --lines=1 /etc/ticketrail/relay.secret)`
	b.until("order "+id+" is accepted", func() bool {
		_, err := b.try(post)
		return err == nil
	})
	b.until("order "+id+" is at the station", func() bool {
		return strings.Contains(b.do("cat /var/log/ticketrail/kitchen.jsonl || true"), id)
	})
}

// again waits until a unit has a process that is not the one before.
func (b *relayBox) again(unit string, before int) {
	b.t.Helper()
	b.until(unit+" runs again", func() bool {
		now := b.process(unit)
		return now != 0 && now != before
	})
}
