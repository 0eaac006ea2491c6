// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

type activateOptions struct {
	*session
	output
	policyArg, selector  string
	allNamespaces        bool
	dryRun, wait, goOn   bool
	rate                 string
	timeout              time.Duration
	pause                time.Duration // between two templates, from rate
	policyKey            propagation.PolicyKey
	labels               labels.Selector
	named                []propagation.TemplateKey
	namespaceOfSelection string

	world  explaining.World
	readAt time.Time
	// missing counts the named templates that could not be read and were skipped.
	missing int
	// untold says which templates could not be chosen, if any.
	untold untold
}

func activateCommand(s *session) *cobra.Command {
	o := &activateOptions{session: s, labels: labels.Everything()}
	cmd := &cobra.Command{
		Use:     "activate KIND/NAME... | --policy pp/NAME | -l SELECTOR | all",
		Aliases: []string{"reconcile"},
		Short:   "Let pending changes of policies take effect now",
		Long: `Let a pending change of a policy take effect now, on templates that did not
change. Templates are chosen by name, by the policy that holds them, by their
labels, or all of a namespace. No template is written: the request is recorded
on its binding, is for the policy as it is now, and becomes void when the policy
changes again.

Templates are released one after the other. If one fails, the command stops; run
it again to continue with those that are still pending.`,
		Example: examples(`
			# What would happen
			kubectl sluice activate --policy pp/nginx -n shop --dry-run

			# One template
			kubectl sluice activate deployment/nginx -n shop

			# All of a policy, ten a minute, each available before the next
			kubectl sluice activate --policy cpp/default --rate 10/m --wait

			# By label, in a namespace
			kubectl sluice activate -l tier=web -n shop

			# The same in the syntax of another system
			kubectl sluice reconcile all -l clusterpropagationpolicy.karmada.io/name=default`),
		ValidArgsFunction: s.completeObjects(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.parse(args); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.policyArg, "policy", "", "templates that this policy holds: pp/NAME or cpp/NAME")
	f.StringVarP(&o.selector, "selector", "l", "", "templates with these labels")
	f.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "templates of every namespace, and cluster-scoped ones")
	f.BoolVar(&o.dryRun, "dry-run", false, "only show what would happen")
	f.BoolVar(&o.wait, "wait", false, "wait for each template to be available before the next")
	f.BoolVar(&o.goOn, "keep-going", false, "continue with the others if a template fails")
	f.StringVar(&o.rate, "rate", "", "at most this many templates in a time: 1/s, 10/m, 100/h")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long to wait for one template")
	o.addTo(cmd, formatJSON, formatYAML)
	_ = cmd.RegisterFlagCompletionFunc("policy", s.completePolicies)
	return cmd
}

func (o *activateOptions) parse(args []string) error {
	var err error
	if o.pause, err = parseRate(o.rate); err != nil {
		return err
	}
	if o.forMachines() && !o.dryRun {
		return usagef("-o %s goes with --dry-run", o.format)
	}
	if err := o.parseSelector(); err != nil {
		return err
	}
	all := len(args) == 1 && args[0] == "all"
	if !all && len(args) > 0 {
		if o.policyArg != "" || o.selector != "" || o.allNamespaces {
			return usagef("templates are chosen by name, or else by --policy, -l and -A: not by both")
		}
		o.named, err = o.objects(args)
		return err
	}
	if !all && o.policyArg == "" && o.selector == "" {
		return usagef("nothing is chosen: name templates, or choose them with --policy or -l; 'all' is all of the namespace")
	}
	if o.policyArg != "" {
		if o.policyKey, err = o.policy(o.policyArg); err != nil {
			return err
		}
	}
	return o.parseScope()
}

// parseScope determines the namespace of the selection: that of -n, unless a cluster
// policy or -A selects in all namespaces.
func (o *activateOptions) parseScope() error {
	namespace, err := o.namespace()
	if err != nil {
		return err
	}
	explicit := o.flags.Namespace != nil && *o.flags.Namespace != ""
	if o.policyKey.Scope == propagation.Namespaced && o.policyKey.Namespace == "" {
		o.policyKey.Namespace = namespace
	}
	if !o.allNamespaces && (explicit || o.policyKey.Scope != propagation.Cluster) {
		o.namespaceOfSelection = namespace
	}
	return nil
}

// parseSelector removes a policy's name from the label selector. It is an annotation of
// the template, and only another system has it as a label.
func (o *activateOptions) parseSelector() error {
	sel, err := labels.Parse(o.selector)
	if err != nil {
		return usagef("-l %s: %v", o.selector, err)
	}
	requirements, _ := sel.Requirements()
	for _, r := range requirements {
		scope := propagation.Namespaced
		switch r.Key() {
		case propagation.ClaimClusterName:
			scope = propagation.Cluster
		case propagation.ClaimNamespacedName:
		case propagation.ClaimNamespacedNamespace:
			return usagef("-l %s: name the policy's namespace with -n", r.Key())
		default:
			o.labels = o.labels.Add(r)
			continue
		}
		value, one := r.Values().PopAny()
		if !one || r.Operator() != selection.Equals && r.Operator() != selection.DoubleEquals || o.policyKey.Name != "" || o.policyArg != "" {
			return usagef("-l %s: want one policy, as in %s=NAME", r.Key(), r.Key())
		}
		o.policyKey = propagation.PolicyKey{Scope: scope, Name: value}
	}
	return nil
}

// parseRate returns the pause between two templates.
func parseRate(rate string) (time.Duration, error) {
	if rate == "" {
		return 0, nil
	}
	number, unit, _ := strings.Cut(rate, "/")
	n, err := strconv.Atoi(number)
	per := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[unit]
	if err != nil || n <= 0 || per == 0 {
		return 0, usagef("--rate %s: want a number a second, minute or hour, as in 10/m", rate)
	}
	return per / time.Duration(n), nil
}

func (o *activateOptions) run(ctx context.Context) error {
	h, err := o.hub()
	if err != nil {
		return err
	}
	if o.world, err = world(ctx, h); err != nil {
		return err
	}
	o.readAt = time.Now()
	chosen, err := o.choose(ctx, h)
	if err != nil {
		return err
	}
	var waiting []explaining.Release
	held := 0
	for _, s := range chosen {
		r := o.world.Release(s)
		if r.Policy != nil {
			held++
		}
		if r.Pending || o.named != nil && r.Refusal != "" {
			waiting = append(waiting, r)
		}
	}
	if o.dryRun {
		return cmp.Or(o.preview(waiting), o.untold.err())
	}
	switch {
	case len(waiting) == 0 && o.missing > 0:
		return o.failed(o.missing, len(chosen)+o.missing)
	case len(waiting) == 0 && len(o.untold) > 0:
		return o.untold.err()
	case len(chosen) == 0:
		o.screen.Println("Nothing is chosen: no template that a policy holds matches.")
		return nil
	case len(waiting) == 0 && held == 0:
		o.screen.Println("Nothing waits, and no policy holds it.")
		return nil
	case len(waiting) == 0:
		o.screen.Printf("Nothing waits: %s\n", noun(held, "template is as its policy says", "templates are as their policies say"))
		return nil
	}
	err = o.activate(ctx, h, waiting)
	if len(o.untold) > 0 {
		err = errors.Join(err, o.untold.err())
	}
	return err
}

// choose reads the templates that the command line selects.
func (o *activateOptions) choose(ctx context.Context, h *hub.Hub) ([]explaining.Subject, error) {
	if o.named != nil {
		var out []explaining.Subject
		for _, key := range o.named {
			s, err := subject(ctx, h, key)
			if err = notFound(key, err); err != nil && !o.goOn {
				return nil, err
			}
			if err != nil {
				o.screen.Note("%v", err)
				o.missing++
				continue
			}
			out = append(out, s)
		}
		return out, nil
	}
	f := filter{kinds: map[schema.GroupVersionKind]bool{}, also: func(*propagation.Binding) bool { return true }}
	if !o.policyKey.IsZero() {
		p, err := h.Policy(ctx, o.policyKey)
		if err != nil {
			return nil, noPolicy(o.policyKey, err)
		}
		f = concerning(p)
	} else {
		for _, p := range o.world.Policies {
			for gvk := range concerning(p).kinds {
				f.kinds[gvk] = true
			}
		}
	}
	f.namespace, f.policy, f.labels, f.selected = o.namespaceOfSelection, o.policyKey, o.labels, false
	chosen, dark, err := subjects(ctx, h, f)
	o.untold = dark
	return chosen, err
}
