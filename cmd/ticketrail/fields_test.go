package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ticketrail/cmd/internal/admin"
	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/receiver"
	"ticketrail/receiver/plan"
)

func TestTheMappingOfUnreadFieldsIsAConfigurationThatSilencesNoWarning(t *testing.T) {
	field := func(path, example string) admin.Field {
		return admin.Field{Path: path, Use: plan.Unread, Example: example, Requests: 2}
	}
	unread := []admin.Field{
		field("records.items.kitchenHint", "hot\" # plate"), field("records.items.extras.cook_note", "crisp"),
		field("records.items.product.allergyInfo", "nuts"), field("records.items.preModifier.name", "NO_1"),
		field("records.buyer.guestName", "Ana"), field("records.guest_name_2", "B0"), field("records.dueAt", "19:30"),
		field("records.items.stage", "CANCELLED_BY_GUEST"), field("records.items.glutenFree", "true"),
		field("records.items.portions", "2"), field("records.items.volume", "12oz"), field("records.phone", "55501234"),
		field("records.loyalty tier", "T1"), field("records.mood", "good"), field("noteForAll", "x1"),
	}
	all := admin.Fields{
		Fields: map[string][]string{"note": {"remark"}}, Silence: []string{"records.old"},
		Venues: []admin.VenueFields{{Shape: receiver.Shape{Fields: append(unread,
			admin.Field{Path: "records.items.extras.name", Use: plan.Read, As: "name"})}}},
	}
	got := mapping(all, unread)
	want := `ticket:
  fields:
    # records.items.product.allergyInfo: "nuts", 2 orders, prints under its item
    allergens: [ALLERGENS, product.allergyInfo]
    # records.buyer.guestName: "Ana", 2 orders, prints under the header
    customer: [CUSTOMERS, buyer.guestName]
    # records.items.kitchenHint: "hot\" # plate", 2 orders, prints under its item
    # records.items.extras.cook_note: "crisp", 2 orders, prints under its item
    note: [remark, kitchenHint, cook_note]
  silence: # no cook sees these
    - records.old
    - records.guest_name_2 # "B0", 2 orders, prints under the header
    - records.dueAt # "19:30", 2 orders, prints under the header
    - records.phone # "55501234", 2 orders, prints under the header
    - "records.loyalty tier" # "T1", 2 orders, prints under the header
    # A cook may need these. To silence one, move it to silence:
    # - records.items.preModifier.name # "NO_1", 2 orders, prints under its item
    # - records.items.stage # "CANCELLED_BY_GUEST", 2 orders, prints under its item
    # - records.items.glutenFree # "true", 2 orders, prints under its item
    # - records.items.portions # "2", 2 orders, prints under its item
    # - records.items.volume # "12oz", 2 orders, prints under its item
    # - records.mood # "good", 2 orders, prints under the header
    # - noteForAll # "x1", 2 orders, prints under the first header
`
	defaults := plan.DefaultFields()
	want = strings.NewReplacer("ALLERGENS", strings.Join(defaults["allergens"], ", "),
		"CUSTOMERS", strings.Join(defaults["customer"], ", ")).Replace(want)
	diff := cmp.Diff(want, got)
	assert.True(t, diff == "", diff)
	c, err := config.Parse("k.yaml", []byte(got))
	assert.True(t, err == nil || !strings.Contains(err.Error(), "ticket"), err, c)
}
