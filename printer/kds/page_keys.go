package kds

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// DefaultKeys returns the keys of each action on a page. A bump bar is a keyboard: either it is set
// up to send these keys, or the configuration names the keys that it sends. Keys have the names
// that browsers give them (KeyboardEvent.key: "Enter", "ArrowLeft", "F5", "a"); the space bar is
// "Space". Shift+, Ctrl+ and Alt+ may precede a name. Letters match in either case.
func DefaultKeys() map[string][]string {
	keys := map[string][]string{
		"bump": {"Enter", "Space"}, "item": {"i"}, "details": {"d"}, "ack_void": {"v"}, "undo": {"u"}, "print": {"p"},
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

// withCustomKeys returns the default keys with the actions of custom replaced. A key that custom
// uses is removed from all other actions, so that one press never does two things.
func withCustomKeys(custom map[string][]string) map[string][]string {
	keys := DefaultKeys()
	used := map[string]bool{}
	for _, list := range custom {
		for _, key := range list {
			used[normalKey(key)] = true
		}
	}
	for action, list := range keys {
		keys[action] = slices.DeleteFunc(list, func(key string) bool { return used[normalKey(key)] })
	}

	maps.Copy(keys, custom)
	return keys
}

// CheckKeys returns the first thing that is wrong with the keys of a configuration. It is called
// when the configuration is checked, so a key that would do two things never reaches a kitchen.
func CheckKeys(custom map[string][]string) error {
	known := DefaultKeys()
	used := map[string]string{}
	for _, action := range slices.Sorted(maps.Keys(custom)) {
		if _, ok := known[action]; !ok {
			return fmt.Errorf("unknown action %q; want one of %q", action, slices.Sorted(maps.Keys(known)))
		}

		for _, key := range custom[action] {
			normal := normalKey(key)
			if normal == "" {
				return fmt.Errorf("%s: %q is not the name of a key; want one like Enter, Space, F5, a or Shift+R",
					action, key)
			}
			if other, ok := used[normal]; ok && other != action {
				return fmt.Errorf("key %q is used by both %s and %s", key, other, action)
			}
			used[normal] = action
		}
	}

	return nil
}

// normalKey is a key's name with its modifiers in one order and its letters in lower case; empty if
// it is not the name of a key. A key named "+" is itself no modifier, hence the check for an empty
// rest.
func normalKey(key string) string {
	var mods []string
	for {
		mod, rest, ok := strings.Cut(key, "+")
		mod = strings.ToLower(mod)
		if !ok || !slices.Contains([]string{"ctrl", "alt", "shift"}, mod) || rest == "" {
			break
		}
		mods, key = append(mods, mod), rest
	}

	if key == "" || len(key) > 32 || key != strings.TrimSpace(key) {
		return ""
	}

	slices.Sort(mods)
	return strings.Join(append(slices.Compact(mods), strings.ToLower(key)), "+")
}
