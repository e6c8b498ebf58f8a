package app

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/receiver/plan"
)

func TestAFieldThatNobodyMappedIsAWarningUntilItIsMappedOrSilenced(t *testing.T) {
	runDaemonWith(t, withoutPolls, func(k *testDaemon) {
		orders := 0
		want := func(step, text string) {
			k.T.Helper()
			synctest.Wait()
			got, _, _ := strings.Cut(k.finding(finding.Warn, "fields"), ":")
			assert.Equal(k.T, got, text, step)
		}
		order := func() {
			k.T.Helper()
			orders++
			k.Send(fmt.Sprintf(`{"records":[{"id":"o%d","deliveryCode":"K7","items":[`+
				`{"name":"Pie","dip":"hot","wish":"soon"}]}]}`, orders))
		}
		silence := func(paths ...string) func(*config.Config) {
			return func(c *config.Config) { c.Ticket.Silence = paths }
		}

		want("at first", "")
		order()
		want("after an order", "3 unread fields in the orders of Harbour Grill")
		k.reload(silence("records.items.wish", "records.never_sent"))
		want("one is silenced", "2 unread fields in the orders of Harbour Grill")
		k.reload(func(c *config.Config) { c.Ticket.Fields = map[string][]string{"note": {"D_i-p"}} })
		want("one is mapped", "1 unread field in the orders of Harbour Grill")
		order()
		want("the next order agrees", "1 unread field in the orders of Harbour Grill")
		k.reload(silence())
		for _, f := range k.App.fields().Venues[0].Fields {
			assert.True(k.T, f.Use != plan.Silenced, f.Path)
		}
		order()
		want("one is silent no longer", "2 unread fields in the orders of Harbour Grill")
		k.Restart()
		want("after a restart", "2 unread fields in the orders of Harbour Grill")
		k.reload(silence("records.items.wish", "records.deliveryCode"))
		order()
		want("all are mapped or silenced", "")

		// Fields that may be a warning are the first examples.
		k.Send(`{"records":[{"id":"o","items":[{"name":"Pie",` +
			`"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"tableAlert":"nuts","stage":"CANCELLED_BY_GUEST"}]}]}`)
		synctest.Wait()
		var examples []string
		for _, f := range k.findings() {
			examples = append(examples, f.Examples...)
		}
		assert.True(k.T, len(examples) >= 2 && examples[0] == "records.items.stage: CANCELLED_BY_GUEST (1 order)" &&
			examples[1] == "records.items.tableAlert: nuts (1 order)", "the examples are", examples)
	}, "grill")
}
