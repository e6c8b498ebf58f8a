package board

import (
	"fmt"
	"testing"
	"time"

	"ticketrail/deploy/assert"
	"ticketrail/queue/queuetest"
)

func TestWhatIsWantedLaterIsBegunSoThatItIsNotLateThenAndIsCountedApart(t *testing.T) {
	b := open(t, queuetest.NewStore())
	b.SetLook(Look{Ahead: 8 * time.Minute})
	now := time.Now().Truncate(time.Second)
	d := order(1, "Fish", "Pie", "Fish")
	d.Ticket.Received, d.Ticket.Promised = now, now.Add(20*time.Minute).Format(time.RFC3339)
	d.Ticket.Lines[1].Hold, d.Ticket.Lines[2].Void = true, true
	soon := order(2, "Fish")
	soon.Ticket.Received, soon.Ticket.Promised = now, now.Add(7*time.Minute).Format(time.RFC3339)
	put(t, b, d, soon)
	fire := now.Add(12 * time.Minute)
	k, s := card(b, 1), card(b, 2)
	assert.True(t, k.Items[0].Fire == fire.UnixMilli() && k.Items[1].Fire == -1 && k.Items[2].Fire == 0 &&
		s.Items[0].Fire == 0, k.Items, s.Items)
	for at, want := range map[time.Time]string{
		now: "[1 Fish false 1 Fish true 1 Pie true]", fire: "[2 Fish false 1 Pie true]"} {
		var got []any
		for _, c := range AllDay(b.Snapshot().Orders, "", at) {
			got = append(got, c.Quantity, c.Name, c.Later)
		}
		assert.Equal(t, fmt.Sprint(got), want, at)
	}
}
