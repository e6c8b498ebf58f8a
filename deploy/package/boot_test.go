package deploypackage

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const bootConfig = `venues: [ { id: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11, name: Harbour Grill, timezone: UTC } ]
printers: [ { name: grill, address: "tcp://127.0.0.1:9100" } ]
fallback: grill
receiver: { allow_from: [], secret_file: "" }
`

// send sends orders as the service does; its summary counts those that were accepted.
const send = "/mnt/possim send http://127.0.0.1:8443/webhooks/print --concurrency 4 "

// TestABoxLivesThroughItsPackages is the life of a box, in this order: each step needs those before it.
func TestABoxLivesThroughItsPackages(t *testing.T) {
	b, files := bootWith(t, bootConfig)
	run(t, "go", "build", "-o", filepath.Join(files, "possim"), "ticketrail/cmd/possim")
	run(t, "go", "build", "-o", filepath.Join(files, "mailbox"), "github.com/emersion/go-smtp/cmd/smtp-debug-server")
	b.do("systemd-run --quiet --unit=printer /mnt/possim printer --listen 127.0.0.1:9100")
	b.do("systemd-run --quiet --unit=mailbox /mnt/mailbox") // it writes every mail to the journal

	// Nothing starts before there is a configuration.
	b.says("dpkg --install /mnt/old.deb", "To set this box up, run: ticketrail init")
	b.says("systemctl is-enabled ticketrail", "enabled")
	b.fails("systemctl is-active ticketrail", "inactive")
	b.fails("systemctl --failed --quiet | grep ticketrail", "")
	b.fails("systemctl start ticketrail", "Assertion failed")
	b.fails("ticketrail status", "run ticketrail init")
	b.fails("ticketrail doctor", "ticketrail init")
	b.fails("systemctl --failed --quiet | grep ticketrail", "")
	b.do(`ticketrail init --venue Grill --venue-id new --timezone Australia/Melbourne --hours - \
		--tell 'smtp://127.0.0.1:1025/?from=box@grill.example&to=boss@grill.example&starttls=no' \
		--printer grill=tcp://127.0.0.1:9100 --reach proxy --host - >/tmp/said`)
	b.says("cat /tmp/said; systemctl is-active ticketrail", "is confirmed")

	// The person to tell has got the test message, and gets a mail with the reason and the advice.
	b.do(`curl --silent --header 'content-type: application/json' --data '{"records": []}' \
		--header 'x-svc-venueid: 6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a11' --header 'x-svc-device-id: bar' \
		http://127.0.0.1:8443/webhooks/print/a-secret-of-another-box`)
	for _, line := range []string{
		"Subject: Grill: a test message", "orders: 1 request refused: wrong secret in the address",
		"What to do: enter the address that ticketrail venues list shows at the service",
	} {
		b.until("a mail says "+line, func() bool {
			return strings.Contains(b.do("journalctl --unit=mailbox --output=cat"), line)
		})
	}
	b.do(`systemctl stop ticketrail
		rm -r /etc/ticketrail/ticketrail.yaml /etc/ticketrail/secrets/* /var/lib/ticketrail/*`)
	b.do("install -m640 -g ticketrail /mnt/ticketrail.yaml /etc/ticketrail/ && ticketrail check")
	b.do("systemctl start ticketrail")
	b.says(send+"--count 1", "1 SENT")
	b.until("the first ticket is printed", func() bool {
		return strings.Contains(b.do("ticketrail jobs list"), "confirmed")
	})

	// The control socket is for ticketrail-admin; the secrets are not.
	b.do(`useradd alice --groups ticketrail-admin && useradd bob
		install -m640 -g ticketrail /dev/null /etc/ticketrail/secrets/webhook`)
	b.says("runuser -u alice -- ticketrail printers hold grill --reason 'a test'", "grill")
	b.do("runuser -u alice -- ticketrail printers resume grill")
	b.logs("", "alice")
	b.fails("runuser -u bob -- ticketrail jobs list", "usermod -aG ticketrail-admin")
	for _, file := range []string{"secrets/webhook", "ticketrail.yaml"} {
		b.fails("runuser -u alice -- cat /etc/ticketrail/"+file, "Permission denied")
		b.do("runuser -u ticketrail -- cat /etc/ticketrail/" + file)
	}

	// A file that root can read and the service's user cannot would end in a crash loop: a check finds it before.
	b.do("chmod 600 /etc/ticketrail/ticketrail.yaml")
	b.fails("ticketrail check", "it cannot be read (/etc/ticketrail/ticketrail.yaml: cannot be read")
	b.do(`cd /etc/ticketrail && chmod 640 ticketrail.yaml && chgrp root secrets/webhook
		head -c 24 /dev/urandom | base64 | tr +/ -_ >secrets/webhook
		sed --in-place 's|secret_file: ""|secret_file: secrets/webhook|' ticketrail.yaml`)
	b.fails("ticketrail check", "receiver.secret_file: /etc/ticketrail/secrets/webhook: permission denied")
	b.do("chgrp ticketrail /etc/ticketrail/secrets/webhook && ticketrail check")
	b.do("cp /mnt/ticketrail.yaml /etc/ticketrail/")

	// A manager's browser changes the configuration, and keeps who may read it.
	b.says(`at=http://localhost:9322/manage/api/settings
		version=$(curl --silent $at | grep --only-matching '"version":"[0-9a-f]*"')
		curl --silent --fail-with-body $at/hours --header 'Origin: http://localhost:9322' \
			--header 'Content-Type: application/json' \
			--data "{$version,\"name\":\"Harbour Grill\",\"hours\":[\"daily 10:00-23:00\"]}"
		cd /etc/ticketrail && stat --format '%G %a %n' ticketrail.yaml*
		cmp /mnt/ticketrail.yaml ticketrail.yaml.previous && grep 'daily 10:00-23:00' ticketrail.yaml`,
		"ticketrail 640 ticketrail.yaml\nticketrail 640 ticketrail.yaml.previous\n")
	b.fails("nsenter --target=$(systemctl show --value --property=MainPID ticketrail) --mount -- "+
		"touch /etc/ticketrail/secrets/x", "Read-only file system")

	// A file with a mistake is refused where it is seen, and changes nothing.
	first := b.daemon()
	b.do("echo 'printer: []' >>/etc/ticketrail/ticketrail.yaml")
	b.fails("systemctl reload ticketrail", "Job for ticketrail.service failed")
	b.logs("", "printer: unknown key")
	b.says("dpkg --install /mnt/new.deb", "NOT restarted")
	if now := b.daemon(); now != first {
		t.Fatalf("process %d became %d, with a file that the daemon refuses", first, now)
	}
	b.do("cp /mnt/ticketrail.yaml /etc/ticketrail/ && systemctl reload ticketrail")

	// Warnings have their priority in the journal, and whoever helps gets them in one file.
	b.logs("--priority=warning", "level=WARN")
	b.fails("journalctl --unit=ticketrail --priority=warning --output=cat | grep level=INFO", "")
	b.says("cd /tmp && ticketrail support >&2 && tar --extract --gzip --to-stdout <ticketrail-support-*.tar.gz",
		"printer: unknown key")

	// The unit forbids the daemon to look at the kernel's clock: it asks timedated. The file would say the
	// opposite, if the bus did not answer.
	b.do(`file=/run/systemd/timesync/synchronized; mkdir -p $(dirname $file); touch $file; want=0
		if [ $(timedatectl show --value --property=NTPSynchronized) = yes ]; then rm $file; want=1; fi
		systemctl restart ticketrail
		# If timedated was too slow, the daemon asks it again after a minute.
		until curl --silent http://127.0.0.1:9321/metrics | grep --line-regexp "ticketrail_clock_synchronized $want"
		do sleep 0.1; done
		rm --force $file`)

	// Restarts and package changes lose nothing, and the port is always open.
	b.says(`(`+send+`--count 200 --rate 100; echo orders=$?) >/tmp/orders 2>&1 & orders=$!
		(while sleep 0.01; do exec 3<>/dev/tcp/127.0.0.1/8443 && exec 3<&-; done) 2>/tmp/refused & probe=$!
		for i in 1 2 3; do systemctl restart ticketrail; sleep 0.1; done
		dpkg --install /mnt/old.deb && dpkg --install /mnt/new.deb
		wait $orders; kill $probe; cat /tmp/refused; tail -n 4 /tmp/orders; test ! -s /tmp/refused`, "200 SENT")
	b.says("ticketrail version && dpkg-query --show ticketrail", "1.1")
	b.until("everything is printed", func() bool {
		return b.do("ticketrail jobs list --state pending,printing --json") == "[]"
	})

	// No upgrade waits for the servers of a relay, which are away here, or starts a relay that is off.
	b.do(`cd /etc/ticketrail
		echo abcdefghij0123456789abcdefghij | install -m640 -g ticketrail /dev/stdin nats.password
		install -m640 -g ticketrail /dev/stdin relay.yaml <<-'END'
			nats: { urls: [ "nats://127.0.0.1:4222" ], password_file: nats.password }
			metrics: { listen: "127.0.0.1:9421" }
		END
		systemctl enable ticketrail-relay && systemctl --no-block start ticketrail-relay`)
	b.until("the relay runs", func() bool { return b.process("ticketrail-relay") != 0 })
	b.do("dpkg --install /mnt/old.deb")
	b.do("systemctl disable --now ticketrail-relay")
	b.do("dpkg --install /mnt/new.deb")
	b.fails("systemctl is-active ticketrail-relay", "inactive")

	// The nightly backup is off, and works.
	b.fails("systemctl is-enabled ticketrail-backup.timer", "disabled")
	b.do("systemctl enable --now ticketrail-backup.timer && systemctl start ticketrail-backup.service")
	b.do(`systemctl stop ticketrail
		ticketrail db restore /var/lib/ticketrail-backups/*.db
		systemctl start ticketrail`)
	b.says("ticketrail jobs list", "confirmed")

	// A daemon that hangs is replaced. Three seconds, so that the test need not wait for thirty.
	b.do(`mkdir -p /run/systemd/system/ticketrail.service.d
		printf '[Service]\nWatchdogSec=3s\n' >/run/systemd/system/ticketrail.service.d/quick.conf
		systemctl daemon-reload && systemctl restart ticketrail`)
	hung := b.daemon()
	b.do("kill -STOP " + strconv.Itoa(hung))
	b.until("the watchdog replaces the daemon", func() bool {
		now := b.daemon()
		return now != 0 && now != hung
	})
	b.says(send+"--count 1 --seed 2", "1 SENT")
	b.do("rm /run/systemd/system/ticketrail.service.d/quick.conf && systemctl daemon-reload")

	// A port below 1024 needs the drop-in. The old port is closed.
	b.do("sed -i 's/allow_from/listen: \"127.0.0.1:443\", allow_from/' /etc/ticketrail/ticketrail.yaml")
	b.fails("systemctl restart ticketrail", "Job for ticketrail.service failed")
	b.logs("", "low-port.conf")
	b.do(`install -Dm644 -t /etc/systemd/system/ticketrail.service.d /usr/share/doc/ticketrail/examples/low-port.conf
		systemctl daemon-reload; systemctl restart ticketrail; curl --silent http://127.0.0.1:443/`)
	b.fails("curl --silent --show-error http://127.0.0.1:8443/", "Failed to connect")

	// A stop lasts.
	b.do("systemctl stop ticketrail")
	b.fails("curl --silent --show-error http://127.0.0.1:443/", "Failed to connect")
	b.fails("systemctl is-active ticketrail", "inactive")

	// A removal leaves the orders, a purge only the backups.
	b.do("systemctl start ticketrail && dpkg --remove ticketrail")
	b.fails("pgrep ticketrail", "")
	b.do("test -s /var/lib/ticketrail/ticketrail.db && test -e /etc/ticketrail/ticketrail.yaml")
	b.do("dpkg --purge ticketrail")
	b.fails("ls -d /var/lib/ticketrail", "No such file")
	b.fails("ls -d /etc/ticketrail", "No such file")
	b.says("ls /var/lib/ticketrail-backups", ".db")
	b.says("find /etc/systemd /run/systemd/system /usr/share/doc /var/lib/systemd/deb-systemd-helper-enabled "+
		"-name '*ticketrail*' -not -path '*.service.d*' | wc -l", "0")
}
