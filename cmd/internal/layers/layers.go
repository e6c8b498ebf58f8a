// Package layers lists every package of ticketrail, what it is for, and which others it may import.
// Its tests read every file of the tree and fail on an import that is not listed. So later changes
// keep the rules that the kitchen depends on: receiving and printing stay apart, and a virtual
// printer is never part of the daemon. ARCHITECTURE.md shows the same table. The table is data, so
// that a reader and a test see the same rules.
package layers

// A Package is one package of the tree. An import is allowed if May has it; everything else is an
// error, so a new dependency is always a decision.
type Package struct {
	Path string
	Is   string // what it is for
	// May lists the packages of this module that it may import; tests may import any. A trailing
	// "/..." also allows everything below; "..." alone allows everything.
	May []string
}

// Packages lists every package. A new one is added here, with a reason to exist: another third-party
// dependency, another degree of purity or trust, a second implementation, or code that must not be
// part of the daemon.
var Packages = []Package{
	{"cmd/ticketrail", "the daemon and its command line, a file for each group of commands", []string{
		"cmd/internal/admin", "cmd/internal/app", "cmd/internal/doctor", "cmd/internal/natsaccess",
		"cmd/internal/relay", "cmd/internal/setup", "config", "receiver/pos", "receiver/plan", "receiver/relay",
		"printer/layout", "printer/profile", "queue/ticket",
	}},
	// Programs that are never installed in a kitchen may import everything.
	{"cmd/demo", "a whole kitchen in one process", []string{"..."}},
	{"cmd/bench", "measures speed and memory", []string{"..."}},
	{"cmd/possim", "the point-of-sale service and its printers, simulated", []string{
		"receiver/sim", "receiver/contract", "printer/virtual", "printer/profile",
	}},
	{"cmd/internal/app", "wiring: New, Run, reload, health, teardown", []string{
		"config", "deploy", "receiver/...", "queue/...", "printer/...", "cmd/internal/admin",
		"cmd/internal/daemon", "cmd/internal/doctor", "cmd/internal/httpserver", "cmd/internal/natsaccess",
		"cmd/internal/notify", "cmd/internal/outcomes", "cmd/internal/setup", "cmd/internal/station",
	}},
	{"cmd/internal/station", "the kinds of station behind one interface, and the set of active stations", []string{
		"config", "queue/...", "printer/...", "cmd/internal/admin", "cmd/internal/httpserver",
	}},
	{"cmd/internal/doctor", "checks that need no running daemon", []string{
		"config", "receiver/...", "queue", "queue/ticket", "printer/...", "cmd/internal/admin",
		"cmd/internal/natsaccess", "cmd/internal/setup", "cmd/internal/station",
	}},
	{"cmd/internal/setup", "loads a configuration and makes parts of it, for the daemon and its checks", []string{
		"config", "receiver/contract", "receiver/plan", "receiver/pos", "cmd/internal/notify", "cmd/internal/station",
	}},
	{"cmd/internal/notify", "tells people when something needs them", []string{
		"config", "queue/kv", "printer/webhook", "cmd/internal/admin",
	}},
	{"cmd/internal/outcomes", "tells another system what becomes of each ticket", []string{
		"config", "queue", "queue/ticket", "printer/webhook", "cmd/internal/admin",
	}},
	{"cmd/internal/daemon", "what the daemon on the box and the relay have in common", []string{
		"config", "receiver", "receiver/contract", "printer/layout", "cmd/internal/admin",
		"cmd/internal/httpserver", "cmd/internal/setup",
	}},
	{"cmd/internal/relay", "the relay: the webhook of many venues, in the cloud", []string{
		"config", "receiver", "receiver/contract", "receiver/plan", "receiver/relay", "queue/ticket",
		"cmd/internal/admin", "cmd/internal/daemon", "cmd/internal/httpserver", "cmd/internal/natsaccess",
	}},
	{"cmd/internal/natsaccess", "keys, certificates and credentials of the relay's NATS servers", nil},
	{"cmd/internal/httpserver", "runs the HTTP servers, gets and reloads certificates", nil},
	{"cmd/internal/admin", "the control API on a unix socket", []string{
		"config", "receiver", "queue", "queue/ticket", "printer", "printer/kds", "printer/kds/board",
		"printer/layout",
	}},
	{"cmd/internal/layers", "this table", nil},
	{"cmd/internal/daemontest", "the harness for tests of the whole daemon", []string{"..."}},
	{"receiver", "the webhook that the service posts to", []string{
		"receiver/contract", "receiver/plan", "queue/kv", "queue/ticket",
	}},
	{"receiver/contract", "the service's wire contract", nil},
	{"receiver/plan", "routing and flattening, pure", []string{
		"receiver/contract", "queue/ticket",
	}},
	{"receiver/pos", "reads the service's API: names and time zones for tickets, labor data", []string{
		"receiver/contract", "queue/kv",
	}},
	{"receiver/sim", "the service in memory, for tests and the demo", []string{
		"receiver/contract",
	}},
	{"receiver/relay", "requests from the cloud to the boxes, through NATS JetStream", []string{
		"receiver", "receiver/contract", "queue/ticket",
	}},
	{"receiver/relay/natstest", "a cluster of real NATS servers, for tests", nil},
	{"queue", "deduplication, queues and history on stable storage", []string{
		"queue/kv", "queue/ticket",
	}},
	{"queue/kv", "the interface for small durable maps", nil},
	{"queue/queuetest", "a store that fails on command and a log to read, for tests", []string{"queue/kv"}},
	{"queue/ticket", "the ticket and its vocabulary", nil},
	{"queue/dispatch", "serves the queues, one goroutine per station", []string{
		"queue", "queue/ticket",
	}},
	{"printer", "prints on paper: layout, bytes, connection, confirmation", []string{
		"queue/kv", "queue/ticket", "printer/profile", "printer/layout", "printer/escpos",
		"printer/raster", "printer/transport",
	}},
	{"printer/profile", "what each printer model can do, as data", nil},
	{"printer/layout", "ticket and paper to styled lines, pure", []string{
		"queue/ticket", "printer/profile",
	}},
	{"printer/escpos", "styled lines to ESC/POS bytes, pure", []string{
		"printer/layout", "printer/profile", "printer/raster",
	}},
	{"printer/raster", "text that the printer has no letters for, as dots", []string{
		"printer/layout",
	}},
	{"printer/transport", "opens devices; no other package does", nil},
	{"printer/kds/board", "the orders that screens show, and what cooks do to them, pure", []string{
		"printer/layout", "queue/kv", "queue/ticket",
	}},
	{"printer/kds", "screens in the browser", []string{
		"printer", "printer/kds/board", "printer/layout", "queue/kv", "queue/ticket",
	}},
	{"printer/webhook", "posts signed JSON to the programs of others", []string{"printer/layout"}},
	{"printer/push", "posts tickets to third-party kitchen displays", []string{
		"printer/layout", "printer/webhook", "queue/ticket",
	}},
	{"printer/ticketlog", "writes tickets to files", []string{
		"printer/push", "queue/ticket",
	}},
	{"printer/virtual", "a printer without paper, for tests and the demo", []string{
		"printer/transport", "printer/profile",
	}},
	{"config", "the configuration file", nil},
	{"deploy", "systemd unit, example configuration", nil},
	{"deploy/slow", "marks the tests that need more than Go", nil},
	{"deploy/package", "the Debian packages, by nfpm", nil},
}

// Never lists the packages that must not be part of the daemon, with the reason. The test follows
// imports of imports, because a package in between hides them from a reader.
var Never = map[string]string{
	"printer/virtual":         "it reports tickets as printed that are not; it must not get into a kitchen",
	"queue/queuetest":         "it loses everything with the process, so it must not hold a board",
	"deploy/slow":             "it is part of the tests",
	"cmd/internal/daemontest": "it is part of the tests, and its printers have no paper",
	"receiver/relay/natstest": "it starts servers that nobody may reach and keeps orders in a test's folder",
	"receiver/sim":            "the simulated service must not be reachable in production",
}

// Only lists third-party modules that only these packages may import, with the reason. To replace
// such a module, one package changes. Tests obey this too.
var Only = []struct {
	Module   string
	Packages []string
	Why      string
}{
	{"github.com/labstack/echo", []string{"receiver", "cmd/bench"},
		"Echo v4 is near the end of its support, and the move to v5 must be small; the benchmark compares with Echo"},
	{"go.etcd.io/bbolt", []string{"queue", "cmd/bench"},
		"durability is decided in one place; the benchmark compares with bbolt itself"},
	{"github.com/nats-io/nats.go",
		[]string{"receiver/relay", "receiver/relay/natstest", "cmd/internal/natsaccess", "cmd/internal/relay",
			"cmd/internal/app"},
		"how orders are stored and fetched is decided in one place; the others only connect"},
	{"github.com/nats-io/nats-server", nil, "the server is another process, with its own upgrades"},
	{"github.com/spf13/viper", []string{"config"}, "viper's rules for keys must not reach other packages"},
	{"github.com/spf13/cobra", []string{"cmd/ticketrail", "cmd/possim"},
		"command lines only translate; two programs with commands need one way to write them"},
	{"github.com/expr-lang/expr", []string{"receiver/plan"}, "rules are evaluated where their limits are set"},
	{"golang.org/x/oauth2", []string{"receiver/pos"}, "tokens are requested and cached in one place"},
	{"github.com/hashicorp/go-retryablehttp", []string{"receiver/pos"}, "what is retried is decided in one place"},
	{"github.com/hashicorp/mdns", []string{"cmd/internal/doctor"}, "only a command looks for printers"},
	{"github.com/godbus/dbus", []string{"cmd/internal/doctor"},
		"only the check of the clock asks another service of the box"},
	{"github.com/nats-io/jwt", []string{"cmd/internal/natsaccess"}, "who may do what is decided in one place"},
	{"github.com/nats-io/nkeys", []string{"cmd/internal/natsaccess"}, "keys are made and read in one place"},
	{"github.com/coreos/go-systemd", []string{"cmd/internal/app", "cmd/internal/daemon", "cmd/ticketrail"},
		"only the wiring knows the init system"},
}

// Top lists the files and folders that may be in the top folder, besides dot-files. A new file
// there needs a reason: an operator who opens the repository should find README.md and not ten
// tools' settings.
var Top = []string{
	"cmd", "receiver", "queue", "printer", "config", "deploy", "go.mod", "go.sum", "README.md",
	"ARCHITECTURE.md", "Makefile",
}
