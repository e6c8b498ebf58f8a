package plan

import (
	"fmt"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
	"ticketrail/receiver/contract"
)

const unfamiliar = `{"brand":"North","records":[{"id":"r","checkNumber":18,"venueName":"Bay","items":[` +
	`{"name":"Pie","unitPrice":3,"Pan-Size":"large\n","childItems":[{"name":"Peas","pan_size":"small"}],` +
	`"toppings":[{"name":"Ham","cut":"thin"}],"tags":["a","b"],"spice":null}]}],"count":1}`

func TestEachLeafOfARequestIsReadNoiseUnreadOrSilenced(t *testing.T) {
	p := compile(t, Config{Silenced: []string{"records.items.Tags", "records.items.childitems.panSize"}})
	var got []string
	for _, l := range p.Leaves(parse(t, unfamiliar)) {
		got = append(got, fmt.Sprintf("%s %s %s %s", l.Path, l.Use, l.As, l.Example))
	}
	want := `brand unread  North
records.id noise identifiers r
records.checkNumber read number 18
records.venueName unread  Bay
records.items.name read name Pie
records.items.unitPrice noise money 3
records.items.Pan-Size unread  large
records.items.childItems.name read name Peas
records.items.childItems.pan_size silenced  small
records.items.toppings.name read name Ham
records.items.toppings.cut unread  thin
records.items.tags silenced  a
records.items.tags silenced  b
records.items.spice noise empty null
count read contract 1`
	assert.Equal(t, strings.Join(got, "\n"), want)
}

func TestABodyThatIsOneUnreadableRecordHasNoLeaves(t *testing.T) {
	p := compile(t, Config{Silenced: []string{""}})
	text, _ := contract.Open([]byte(unfamiliar), contract.Text)
	twice := parse(t, `{"records":[{"id":"r","items":[]}],"records":[{"id":"s","items":[]}],"brand":"North"}`)
	for _, req := range []contract.PrintRequest{text, twice, {}} {
		p.Split(req, harbour, "T1", noon, nil)
		all := p.Leaves(req)
		assert.True(t, all == nil, req.ID, all)
	}
}

func TestWhatStandsBesideRecordsThatPrintAsTextIsOnTheirTicketOnce(t *testing.T) {
	deep := strings.Repeat(`{"childItems":[`, contract.MaxDepth+1) + strings.Repeat("]}", contract.MaxDepth+1)
	for why, records := range map[string]string{
		"over a limit":     `"records":[{"id":"r","items":[` + deep + `]}]`,
		"no items":         `"records":[{"id":"r"}]`,
		"ambiguous":        `"records":[{"id":"r","id":"r","items":[]}]`,
		"records repeated": `"records":[{"id":"r","items":[]}],"records":[{}]`, // all of it is text
	} {
		req, _ := contract.Open([]byte(`{"allergyAlert":"nuts",`+records+`,"remark":"late"}`), contract.Text)
		paper := paperOf(compile(t, Config{}).Split(req, harbour, "T1", noon, nil).Request.Drafts)
		for _, text := range []string{"nuts", "late", "[{"} {
			n := strings.Count(paper, text)
			assert.True(t, n != 0 && (n <= 1 || text == "[{"), why, text, n, paper)
		}
	}
}

func TestASilencedFieldDoesNotPrintUnlessAFieldReadsIt(t *testing.T) {
	p := compile(t, Config{Silenced: []string{"records.items.Tags", "brand", "records.items.toppings.cut",
		"records.items.name", "records.items.panSize"}, Fields: map[string][]string{"allergens": {"panSize"}}})
	r := p.Split(parse(t, unfamiliar), harbour, "T1", noon, nil)
	paper := paperOf(r.Request.Drafts)
	for text, is := range map[string]bool{
		"venueName: Bay": true, "Pan-Size: large": true, "Pie": true, "pan_size: small": true,
		"tags": false, "brand": false, "thin": false,
	} {
		assert.Equal(t, strings.Contains(paper, text), is, text, !is, paper)
	}
}

func TestWhatStandsBesideTheRecordsIsOnTheFirstTicket(t *testing.T) {
	for _, first := range []string{`{"id":"r","items":[{"name":"Pie"}]}`,
		`{"id":"r","items":[],"table":"B1"}`} {
		body := `{"allergyAlert":"nuts","records":[` + first + `,{"items":[{"name":"Ale"}]}],"status":"SUCCESS",` +
			`"count":2,"serverRequestTimestamp":"2026-02-06T21:49:48.832Z","drinks":[{"name":"Latte"}]}`
		d := compile(t, Config{}).Split(parse(t, body), harbour, "T1", noon, nil).Request.Drafts
		paper := paperOf(d[:1])
		assert.True(t, strings.Contains(paper, "allergyAlert: nuts") && strings.Contains(paper, "Latte"), first, paper)
		rest := paperOf(d[1:])
		assert.True(t, len(d) == 2 && !strings.Contains(rest, "nuts") && !strings.Contains(rest, "SUCCESS"), len(d),
			rest)
	}
}
