package directory

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// loadOld reads what a version before this one put on the shelf about a venue: a table of its
// people under id/people, and its zone under id/zone. So names print after an upgrade while the
// service does not answer. The first refresh puts a record in their place, and then [Directory.sweep]
// drops them. It can go when nobody upgrades from there any more.
func (d *Directory) loadOld(id string) (*record, error) {
	r := &record{People: map[string]person{}}
	zone, hasZone, err := d.shelf.Get(id + "/zone")
	table, hasTable, err2 := d.shelf.Get(id + "/people")
	if err = errors.Join(err, err2); hasZone && err == nil {
		err = json.Unmarshal(zone, r)
	}
	if !hasTable || err != nil {
		return r, err
	}
	var head struct {
		AsOf time.Time `json:"as_of"`
		Ran  seconds   `json:"ran"`
	}
	first, rest, _ := strings.Cut(string(table), "\n")
	err = json.Unmarshal([]byte(first), &head)
	r.AsOf, r.Ran = head.AsOf, head.Ran
	for line := range strings.Lines(rest) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) != 3 {
			return r, errors.New("a line is not of three cells")
		}
		left, _ := strconv.ParseInt(cells[1], 10, 64) // -1: has not left
		if left >= 0 {
			left = max(1, left)
		}
		r.People[cells[0]] = person{Name: cells[2], Left: seconds(max(0, left))}
	}
	return r, err
}
