package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/queue/ticket"
	"ticketrail/receiver/plan"
)

func TestALogGetsEveryOrderAndIsNoPartOfIt(t *testing.T) {
	var path string
	withLog := func(k *testDaemon) {
		withScreens(testScreen("hot-line"), testPass("pass", "hot-line"))(k)
		path = filepath.Join(k.T.TempDir(), "log", "tickets.jsonl")
		c := config.Defaults[config.TicketLog]()
		c.Name, c.To, c.IncludeRaw = "archive", "file://"+path, true
		k.Conf.Logs = []config.TicketLog{c}
		k.Conf.Routes = append([]plan.Route{{To: []string{"archive"}, Continue: true}}, k.Conf.Routes...)
	}
	runDaemonWith(t, withLog, func(k *testDaemon) {
		hot, pass := k.openPage("hot-line"), k.openPage("pass")
		defer hot.close()
		defer pass.close()
		k.Accept("A1", at("hot-line", "Fish"))
		k.Accept("A2", at("grill", "Steak"))
		pass.wantParts("A1", "hot-line open", "not ready")
		k.WantPrinted("grill", "A2")
		paper := k.lastOf("grill")
		assert.True(t, !strings.Contains(paper, "archive"), "the ticket of a cook names the log", paper)
		// There is no such folder yet.
		l := k.status("archive")
		assert.True(t, l.Kind == finding.KindLog && !l.Up && strings.Contains(l.Error, "make"), l)
		assert.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
		k.Advance(2 * time.Minute)
		k.wantOutcomes("archive", map[ticket.State]uint64{ticket.Taken: 2})
		b, err := os.ReadFile(path)
		assert.NoError(t, err)
		for i, text := range strings.Split(strings.TrimSpace(string(b)), "\n") {
			var l struct {
				Order struct{ Number string }
				Raw   struct{ OrderNumber string }
			}
			want := []string{"A1", "A2"}[i]
			err := json.Unmarshal([]byte(text), &l)
			assert.True(t, err == nil && l.Order.Number == want && l.Raw.OrderNumber == want, err, text)
		}
	}, "grill")
}
