package profile

import (
	"slices"
	"testing"
)

func TestEveryModelIsWhole(t *testing.T) {
	for _, name := range Names() {
		p, ok := Lookup(name)
		if !ok || p.Name != name {
			t.Fatalf("%q is named and not found", name)
		}
		if p.Columns < 20 || p.Dots < p.Columns*8 {
			t.Errorf("%s: %d columns on %d dots", name, p.Columns, p.Dots)
		}
		if p.FeedBeforeCut < 1 || (p.Cutter == NoCutter && p.FeedBeforeCut < 4) {
			t.Errorf("%s: %d lines before the cut or the tear bar are too few", name, p.FeedBeforeCut)
		}
		if len(p.CodePages) == 0 || p.CodePages[0] != (CodePage{0, "CP437"}) {
			t.Errorf("%s: the first code page is %v", name, p.CodePages)
		}
		seen := map[byte]bool{}
		for _, cp := range p.CodePages {
			if seen[cp.Number] {
				t.Errorf("%s: code page %d twice", name, cp.Number)
			}
			seen[cp.Number] = true
		}
	}
	if _, ok := Lookup("typewriter"); ok {
		t.Error("a model that is not there was found")
	}
}

func TestCopiesAreIndependent(t *testing.T) {
	p, _ := Lookup("generic-80mm")
	p.CodePages[0].Number = 77
	if again, _ := Lookup("generic-80mm"); again.CodePages[0].Number != 0 {
		t.Error("changing a profile changed the model")
	}
	if names := Names(); !slices.IsSorted(names) || len(names) < 4 {
		t.Errorf("Names() = %v", names)
	}
}
