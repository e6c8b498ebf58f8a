package ticket

import "testing"

func TestANumberIsSaidWithANumberSignAndANameIsNot(t *testing.T) {
	for in, want := range map[string]string{
		"18": "#18", "#18": "#18", "": "", "#": "", "4F2A": "#4F2A", "UberEats 4F2A": "UberEats 4F2A",
		"#Order 7": "Order 7",
	} {
		if got := NumberLabel(in); got != want {
			t.Errorf("number %q: %q, want %q", in, got, want)
		}
	}
}

func TestATableIsSaidWithTheWordOnlyIfItIsANumber(t *testing.T) {
	for _, c := range []struct{ table, orderType, want string }{
		{"12", "", "Table 12"},
		{"B10", "Dine In", "Table B10"},
		{"12A", "Dine in", "Table 12A"},
		{"AB-7", "Eat in", "Table AB-7"},
		{"٣", "", "Table ٣"}, // three, in Arabic
		{"", "Dine In", ""},
		{"Table 12", "Dine In", "Table 12"},
		{"TABLE 4", "", "TABLE 4"},
		{"Terrace 4", "Dine In", "Terrace 4"},
		{"Bar 2", "", "Bar 2"},
		{"B", "", "B"},
		{"Priya", "Takeaway", "Priya"},
		{"Priya", "", "Priya"},
		{"UberEats 4F2A", "Delivery", "UberEats 4F2A"},
		{"UberEats 4F2A", "", "UberEats 4F2A"},
		{"12", "Takeaway", "12"},
		{"12", "UberEats Delivery", "12"},
	} {
		if got := TableLabel(c.table, c.orderType); got != c.want {
			t.Errorf("table %q of type %q: %q, want %q", c.table, c.orderType, got, c.want)
		}
	}
}

func TestATypeSaysWhetherAnOrderLeavesTheHouse(t *testing.T) {
	for orderType, want := range map[string]bool{
		"Take Away": true, "take-away": true, "TAKEOUT": true, "To Go": true, "Pick-up": true, "Click & Collect": true,
		"Collection": true, "Delivery": true, "Drive Thru": true, "Drive-Through": true, "Carry Out": true,
		"Dine In": false, "Eat in": false, "Bar": false, "Table": false, "": false, "堂食": false,
	} {
		if got := Leaves(orderType); got != want {
			t.Errorf("%q: %v", orderType, got)
		}
	}
}
