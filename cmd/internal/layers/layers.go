// Package layers is the map of ticketrail: which package may import which, and why a
// package exists at all. Its test reads every file of the tree and fails on an import
// that is not on the map, so that the kitchen's rules (the edges never meet, a test
// printer never ships) hold for whoever comes next. ARCHITECTURE.md shows the same table.
package layers

// A Package is one package: what it is for and which of our packages it may import.
type Package struct {
	Path string
	Is   string
	// May lists packages it may import. A trailing "/..." takes everything below as well;
	// "..." alone is everything.
	May []string
}

// Packages is the whole house. A package that is not here may not exist.
var Packages = []Package{
	{"cmd/ticketrail", "the daemon and its command line, one file a command", []string{"cmd/internal/admin", "cmd/internal/app", "cmd/internal/doctor", "config", "receiver/posapi", "receiver/plan", "printer/layout", "printer/profile", "queue/ticket"}},
	{"cmd/demo", "a whole kitchen in one process", []string{"..."}},
	{"cmd/bench", "the speed and memory figures, measured in one run", []string{"..."}},
	{"cmd/possim", "the service and its printers, simulated, as a program", []string{"receiver/sim", "receiver/contract", "printer/virtual", "printer/profile"}},
	{"cmd/internal/app", "wiring: New, Run, reload, health, named teardown", []string{"config", "deploy", "receiver/...", "queue/...", "printer/...", "cmd/internal/admin", "cmd/internal/doctor", "cmd/internal/httpserver", "cmd/internal/station"}},
	{"cmd/internal/station", "the kinds of station behind one interface, and the set of them in force", []string{"config", "queue/...", "printer/...", "cmd/internal/admin", "cmd/internal/httpserver"}},
	{"cmd/internal/doctor", "what can be answered without a running daemon", []string{"config", "receiver/...", "queue", "queue/ticket", "printer/...", "cmd/internal/station"}},
	{"cmd/internal/httpserver", "runs the HTTP servers, and re-reads certificates", nil},
	{"cmd/internal/admin", "the control API over a unix socket", []string{"receiver", "queue", "queue/ticket", "printer", "printer/layout"}},
	{"cmd/internal/layers", "this map", nil},
	{"receiver", "the endpoint the service posts to", []string{"receiver/contract", "receiver/plan", "queue/kv", "queue/ticket"}},
	{"receiver/contract", "the service's wire contract", nil},
	{"receiver/plan", "routing and flattening, pure", []string{"receiver/contract", "queue/ticket"}},
	{"receiver/posapi", "client of the service's read API", []string{"receiver/contract"}},
	{"receiver/directory", "names and time zones of a venue, cached", []string{"receiver/posapi", "receiver/contract", "queue/kv"}},
	{"receiver/sim", "the service in memory, for tests and demos", []string{"receiver/contract"}},
	{"queue", "dedup, lines, history on stable storage", []string{"queue/kv", "queue/ticket"}},
	{"queue/kv", "the interface for small durable maps", nil},
	{"queue/kv/kvtest", "a store in memory that fails on command, for tests", []string{"queue/kv"}},
	{"queue/ticket", "the cargo and its vocabulary", nil},
	{"queue/dispatch", "the drain loop, one goroutine a station", []string{"queue", "queue/ticket"}},
	{"printer", "paper: layout, bytes, wire", []string{"queue/kv", "queue/ticket", "printer/profile", "printer/layout", "printer/escpos", "printer/raster", "printer/transport"}},
	{"printer/profile", "what a model can do, as data", nil},
	{"printer/layout", "ticket and paper to styled lines, pure", []string{"queue/ticket", "printer/profile"}},
	{"printer/escpos", "styled lines to bytes, pure", []string{"printer/layout", "printer/profile", "printer/raster"}},
	{"printer/raster", "lines the printer has no letters for, as dots", []string{"printer/layout"}},
	{"printer/transport", "opens devices, nothing else does", nil},
	{"printer/transport/transporttest", "what every transport must do, as a test suite", []string{"printer/transport"}},
	{"printer/kds", "a screen in the browser; a push to a third-party KDS", []string{"printer", "printer/layout", "queue/kv", "queue/ticket"}},
	{"printer/virtual", "a printer without paper, for tests and the demo", []string{"printer/transport", "printer/profile"}},
	{"config", "the configuration file", nil},
	{"deploy", "unit, socket, example config", nil},
}

// Never lists what the shipped daemon must not contain, with the reason.
var Never = map[string]string{
	"printer/virtual":                 "a printer that prints nothing and says it did must not be one typo away from a kitchen",
	"printer/transport/transporttest": "a test suite does not ship",
	"queue/kv/kvtest":                 "a store that forgets with the process must not hold a board",
	"receiver/sim":                    "the simulated service must not be reachable in production",
}

// Only says which third-party module lives in which rooms, and why: each is one we may
// have to replace, and then one package changes.
var Only = []struct {
	Module   string
	Packages []string
	Why      string
}{
	{"github.com/labstack/echo", []string{"receiver"}, "Echo v4 is near the end of its support; the move must be one package"},
	{"go.etcd.io/bbolt", []string{"queue", "cmd/bench"}, "durability is argued in one place; the bench measures bbolt itself as its yardstick"},
	{"github.com/spf13/viper", []string{"config"}, "viper's key rules must not leak"},
	{"github.com/spf13/cobra", []string{"cmd/ticketrail", "cmd/possim"}, "the command line translates and does nothing else; possim has as many commands, and one way to write them is enough"},
	{"github.com/expr-lang/expr", []string{"receiver/plan"}, "rules are evaluated where their limits are set"},
	{"golang.org/x/oauth2", []string{"receiver/posapi"}, "how a token is got and kept is argued in one place"},
	{"github.com/coreos/go-systemd", []string{"cmd/internal/app", "cmd/ticketrail"}, "only the wiring knows the init system"},
}

// Top is what may stand in the top folder beside dot-files.
var Top = []string{"cmd", "receiver", "queue", "printer", "config", "deploy", "go.mod", "go.sum", "README.md", "ARCHITECTURE.md", "Makefile"}
