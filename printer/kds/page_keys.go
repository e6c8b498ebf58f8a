package kds

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// DefaultKeys is which keys do what on a page, by action. A bump bar is a keyboard: either it
// is told to send these, or the configuration names what it sends. A key is what browsers
// call it (KeyboardEvent.key: "Enter", "ArrowLeft", "F5", "a"), Space is written out, and
// Shift+, Ctrl+ and Alt+ may stand before it. Letters are meant in either case.
func DefaultKeys() map[string][]string {
	keys := map[string][]string{
		"bump": {"Enter", "Space"}, "item": {"i"}, "ack_void": {"v"}, "undo": {"u"}, "print": {"p"},
		"recall_last": {"r"}, "recall_list": {"Shift+R"}, "all_day": {"a"}, "course": {"c"}, "settings": {"s"},
		"help": {"h", "?"}, "close": {"Escape"},
		"left": {"ArrowLeft"}, "right": {"ArrowRight"}, "up": {"ArrowUp"}, "down": {"ArrowDown"},
		"page_next": {"PageDown"}, "page_previous": {"PageUp"}, "first": {"Home"}, "last": {"End"},
	}
	for i := 1; i <= 10; i++ {
		keys[fmt.Sprintf("select_%d", i)] = []string{fmt.Sprint(i % 10)}
	}
	return keys
}

// keysFor is the default with the actions of own in place of its own; a key of own does
// nothing else.
func withCustomKeys(custom map[string][]string) map[string][]string {
	keys := DefaultKeys()
	for action, list := range keys {
		keys[action] = slices.DeleteFunc(list, func(k string) bool {
			for _, keysOfAction := range custom {
				if slices.ContainsFunc(keysOfAction, func(t string) bool { return sameKey(t, k) }) {
					return true
				}
			}
			return false
		})
	}
	maps.Copy(keys, custom)
	return keys
}

// CheckKeys says what is wrong with the keys of a configuration.
func CheckKeys(custom map[string][]string) error {
	known := DefaultKeys()
	used := map[string]string{}
	for _, action := range slices.Sorted(maps.Keys(custom)) {
		if _, ok := known[action]; !ok {
			return fmt.Errorf("%q is nothing a key can do; there are %q", action, slices.Sorted(maps.Keys(known)))
		}
		for _, key := range custom[action] {
			n := normalKey(key)
			if n == "" {
				return fmt.Errorf("%s: %q is no key; write it as a browser calls it, like Enter, Space, F5, a or Shift+R", action, key)
			}
			if other, ok := used[n]; ok && other != action {
				return fmt.Errorf("%s and %s both have the key %q", other, action, key)
			}
			used[n] = action
		}
	}
	return nil
}

func sameKey(a, b string) bool { return normalKey(a) == normalKey(b) }

// normalKey is a key with its modifiers in one order and letters in one case; empty for what is
// none.
func normalKey(key string) string {
	var mods [3]bool
	for {
		mod, rest, ok := strings.Cut(key, "+")
		i := slices.Index([]string{"ctrl", "alt", "shift"}, strings.ToLower(mod))
		if !ok || i < 0 || rest == "" {
			break
		}
		mods[i], key = true, rest
	}
	if key == "" || len(key) > 32 || key != strings.TrimSpace(key) {
		return ""
	}
	out := strings.ToLower(key)
	for i, m := range []string{"shift+", "alt+", "ctrl+"} {
		if mods[2-i] {
			out = m + out
		}
	}
	return out
}
