package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ticketrail/config"
)

// What wrong usage is, and what is said of it. Cobra's own messages are for programmers: "accepts 1
// arg(s), received 0", "strconv.ParseInt: parsing". Ours name the argument, the value and the right form.

// group is a command that does nothing itself: without a subcommand it is wrong usage.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: name, Short: short, Args: rejectArgs, RunE: requireSubcommand}
	g.AddCommand(commands...)
	return g
}

// listGroup is a group that is its list if nothing follows: `ticketrail jobs` is `ticketrail jobs list`,
// with the same flags. An operator who does not know the subcommands sees the tickets and not a reproach.
func listGroup(name, short string, list *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	g := group(name, short, append(commands, list)...)
	g.Long = fmt.Sprintf("%s.\n\n\"ticketrail %s\" alone is \"ticketrail %[2]s list\".", short, name)
	g.Flags().AddFlagSet(list.Flags()) // the flags themselves, so list.RunE sees what was given
	g.RunE = list.RunE
	return g
}

// rejectArgs refuses a misspelt subcommand with the nearest right one. Cobra alone would show the
// help and exit with 0, and a script would take that for success.
func rejectArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	names := subcommands(cmd)
	return fmt.Errorf("%s has no command %q; there is %s%s", cmd.CommandPath(), args[0],
		strings.Join(names, ", "), config.DidYouMean(args[0], names))
}

// subcommands are the names of the commands below cmd. Hidden ones are not listed.
func subcommands(cmd *cobra.Command) (names []string) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// requireSubcommand makes `ticketrail labor` wrong usage that lists what can follow.
func requireSubcommand(cmd *cobra.Command, _ []string) error {
	return usagef("%s needs a command: %s", cmd.CommandPath(), strings.Join(subcommands(cmd), ", "))
}

// noArgs, oneArg, twoArgs and someArgs check the number of arguments. Their errors name the missing argument, as
// the command's Use does.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no argument, unexpected: %q", cmd.CommandPath(), args[0])
	}
	return nil
}

func oneArg(cmd *cobra.Command, args []string) error {
	return errors.Join(someArgs(cmd, args), atMostOneArg(cmd, args))
}

func atMostOneArg(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes only one %s, unexpected: %q", cmd.CommandPath(), argument(cmd), args[1])
	}
	return nil
}

func twoArgs(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%s needs two arguments, %s, not %d", cmd.CommandPath(), argument(cmd), len(args))
	}
	return nil
}

func someArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no %s given: %s %s", argument(cmd), cmd.CommandPath(), argument(cmd))
	}
	return nil
}

// argument is the name of the argument in "show ID", "cancel ID..." and "profiles [PROFILE]".
func argument(cmd *cobra.Command) string {
	_, name, _ := strings.Cut(cmd.Use, " ")
	return strings.Trim(name, "[].")
}

// flagError says what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		given := "--" + e.GetSpecifiedName()
		if e.GetSpecifiedShortnames() != "" {
			given = given[1:]
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		return fmt.Errorf("%s has no flag %s%s", cmd.CommandPath(), given, config.DidYouMean(given, names))
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		name, _ := pflag.UnquoteUsage(e.GetFlag())
		return fmt.Errorf("--%s needs a value: --%[1]s %s", e.GetFlag().Name, strings.ToUpper(name))
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		form := map[string]string{
			"int":         "is not a whole number: use for example 20",
			"duration":    "is not a duration: use for example 10s or 2m",
			"bool":        "is neither true nor false",
			"stringSlice": "cannot be read as a list: separate the values by commas, without quotes",
		}[e.GetFlag().Value.Type()]
		return fmt.Errorf("--%s %q %s", e.GetFlag().Name, e.GetValue(), form)
	}
	return err
}

// strictCompletion makes cobra's own command refuse what it does not know. Cobra shows its help and exits with 0.
func strictCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	g, _, _ := root.Find([]string{"completion"})
	g.Args, g.RunE = rejectArgs, requireSubcommand
	for _, shell := range g.Commands() {
		shell.Args = noArgs
	}
}

// help replaces cobra's own command, which answers an unknown name on stdout and exits with 0.
func help() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "show the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 && found.HasSubCommands() {
				return &usageError{rejectArgs(found, rest)}
			}
			return found.Help()
		},
	}
}

// usageError is a mistake on the command line. It ends the run with exitUsage and names the help.
// The same command again cannot succeed, so a script need not retry it.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// usagef makes a usageError in the form of fmt.Errorf.
func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// configError is an invalid configuration. It ends the run with exitUsage. It is a type of its own
// because its text is a list, each line with its place in the file.
type configError struct{ error }

func (e *configError) Unwrap() error { return e.error }
