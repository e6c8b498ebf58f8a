// Package layers holds the tree to its rules. Its tests read every file and fail, with the reason, on an import that
// the table of this folder does not allow, and on those that the lists below forbid. So later changes keep
// the rules that the kitchen depends on: receiving and printing stay apart, and a virtual printer is never part of
// the daemon.
package layers

// Never lists the packages that must not be part of the daemon, with the reason. The test follows
// imports of imports, because a package in between hides them from a reader.
var Never = map[string]string{
	"printer/virtual":         "it reports tickets as printed that are not; it must not get into a kitchen",
	"queue/queuetest":         "it loses everything with the process, so it must not hold a board",
	"deploy/assert":           "it is part of the tests",
	"deploy/slow":             "it is part of the tests",
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
	{"github.com/labstack/echo", []string{"receiver", "printer/kds", "cmd/bench"},
		"Echo v4 is near the end of its support, and the move to v5 must be small; screens use only its compression, " +
			"and the benchmark compares with Echo"},
	{"go.etcd.io/bbolt", []string{"queue", "queue/store", "cmd/bench"},
		"durability is decided in one place; the benchmark compares with bbolt itself"},
	{"github.com/nats-io/nats.go",
		[]string{"receiver/relay", "cmd/internal/relay", "cmd/internal/app"},
		"how orders are stored and handed out is decided in one place; the others only connect"},
	{"github.com/nats-io/nats-server", []string{"receiver/relay/natstest"},
		"the server is another process, with its own upgrades"},
	{"github.com/spf13/viper", []string{"config"}, "viper's rules for keys must not reach other packages"},
	{"github.com/spf13/cobra", []string{"cmd/ticketrail", "cmd/possim"},
		"command lines only translate; two programs with commands need one way to write them"},
	{"github.com/expr-lang/expr", []string{"receiver/plan"}, "rules are evaluated where their limits are set"},
	{"golang.org/x/oauth2", []string{"receiver/pos"}, "tokens are requested and cached in one place"},
	{"github.com/hashicorp/go-retryablehttp", []string{"receiver/pos"}, "what is retried is decided in one place"},
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
