package app

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/deploy/assert"
)

func TestARefusedOrderPrintsOnceWhenItsCauseIsMendedAndItsRetryIsADuplicate(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) { k.Conf.Receiver.Schema = "strict" }, func(k *testDaemon) {
		if got := k.Post("order-18", "A18", 0, at("grill", "Burger")); !strings.HasPrefix(got, "400") {
			t.Fatal(got)
		}
		k.Advance(time.Minute)
		assert.Contains(t, k.printReject(1, "{}"), "still cannot be read: records[0].id: want a UUID")
		k.reload(func(c *config.Config) { c.Receiver.Schema = "lenient" })
		assert.Equal(t, k.printReject(1, "{}"), `{"jobs":1,"known":false}`)
		assert.Equal(t, k.finding(finding.Fail, "orders"), "", "the status still says")
		k.Restart()
		assert.Equal(t, k.printReject(1, "{}"), `{"jobs":0,"known":true}`)
		assert.Contains(t, k.printReject(1, `{"version":"refused"}`), "printed meanwhile")
		got := k.Post("order-18", "A18", 1, at("grill", "Burger"))
		assert.Equal(t, got, answerKnown, "the retry got")
		k.Advance(time.Minute)
		k.WantPrinted("grill", "A18")
		assert.True(t, !k.App.rejects.List()[0].Printed.IsZero(), "it is not marked as printed")
		clock := k.App.rejects.List()[0].Time.In(k.App.zone()).Format("15:04")
		wantText(t, k.lastOf("grill"), "LATE", "refused at "+clock, "Burger")
	}, "grill")
}

func TestWhateverArrivesEachLineIsOnPaperOrKept(t *testing.T) {
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 15))
		runDaemonWith(t, func(k *testDaemon) {
			k.Conf.Venues[0].Devices = []string{"BW-E-Tablet-01"}
			if seed%3 == 2 {
				k.Conf.Receiver.Schema = "strict"
			}
		}, func(k *testDaemon) {
			ids := []string{uuid.NewString(), uuid.NewString(), uuid.NewString(), "odd id"}
			named := map[string]string{} // each name that was sent, with its body
			for n := range 40 {
				var items []string
				for i := range 1 + r.IntN(4) {
					name := fmt.Sprintf("Dish%d-%d-%d", seed, n, i)
					station := []string{"grill", "bar", "none"}[r.IntN(3)]
					item := fmt.Sprintf(`{"station":%q,"name":%q,"isVoid":%v}`, station, name, r.IntN(4) == 0)
					switch r.IntN(8) {
					case 0: // nested deeper than a ticket can be
						item = strings.Repeat(`{"childItems":[`, 70) + item + strings.Repeat(`]}`, 70)
					case 1:
						item = fmt.Sprintf(`{"station":"grill","name":"Same","childItems":[{"name":%q}]}`, name)
					case 2:
						item = fmt.Sprintf(`{"station":"grill","name":"Same","note":%q}`, name)
					}
					items = append(items, item)
					named[name] = ""
				}
				all := strings.Join(items, ",")
				id := ids[r.IntN(len(ids))]
				body := fmt.Sprintf(`{"records":[{"id":%q,"orderNumber":"A%d","items":[%s]}]}`, id, r.IntN(2), all)
				switch r.IntN(10) {
				case 0:
					body = fmt.Sprintf(`{"records":[{"id":%q,"items":{"x":[%s]}}]}`, id, all)
				case 1:
					body = fmt.Sprintf(`{"records":[{"id":%q,"items":[],"items":[%s]}]}`, id, all)
				case 2:
					body = fmt.Sprintf(`{"records":[{"items":[%s]}]}`, all)
				}
				for i := range items {
					named[fmt.Sprintf("Dish%d-%d-%d", seed, n, i)] = body
				}
				for range 1 + r.IntN(2) {
					k.Send(body)
				}
				if r.IntN(5) == 0 {
					k.Advance(time.Minute)
				}
				if r.IntN(15) == 0 {
					k.Restart()
				}
			}
			k.Advance(10 * time.Minute)
			var papers strings.Builder
			for _, p := range k.Printers {
				for _, paper := range p.Tickets() {
					papers.WriteString(strings.Join(strings.Fields(paper.Text), ""))
				}
			}
			for _, one := range k.App.rejects.List() {
				one, err := k.App.rejects.Get(one.ID)
				assert.NoError(t, err)
				if json.Valid(one.Body) && one.Printed.IsZero() {
					papers.Write(one.Body)
				}
			}
			for name, body := range named {
				assert.True(t, strings.Contains(papers.String(), name), seed, name, body)
			}
			synctest.Wait()
		}, "grill", "bar")
	}
}

// printReject asks the control API to print a refused request.
func (k *testDaemon) printReject(id uint64, body string) (said string) {
	k.T.Helper()
	_, said = k.control(fmt.Sprintf("/v1/rejects/%d/print", id), body)
	k.Advance(time.Minute)
	return said
}
