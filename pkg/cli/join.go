// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/cli/joining"
	"sluice.dev/pkg/core/mirroring"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

type joinOptions struct {
	*session
	elsewhere           elsewhere
	name, file, context string
	wait                bool
	timeout             time.Duration
	printRole           bool
	kinds               []string
}

func joinCommand(s *session) *cobra.Command {
	o := &joinOptions{session: s}
	cmd := &cobra.Command{
		Use:   "join NAME --cluster-kubeconfig FILE",
		Short: "Join a cluster as a member",
		Long: `Join a cluster as a member. The command first asks the cluster whether it is
ready and which kinds of objects the credentials may write, and then stores them
on the hub in Secret sluice-system/NAME. They need not be an administrator's:
--print-role prints an account with the least rights, for --kinds or for the
kinds that most applications consist of. Joining a member again replaces its
credentials, for example when a token is about to expire. Certificates and
tokens that the file only refers to are included. Where Sluice runs on Knative,
the functions that write to members may read the Secret, and a source watches
the member; if Sluice runs on another cluster than the hub, the Secret is
created there.

On Knative the source reads with a token of the account sluice-reader in the
member, which cannot write. If the member has no such account, and the
credentials may make one, it gets one that reads all kinds. Joining again makes
another token and revokes the former one; unjoin revokes the last.

If anything fails, everything that was created is removed again.`,
		Example: examples(`
			kubectl sluice join member1 --cluster-kubeconfig member1.yaml

			# An account in the member with which Sluice may only write Deployments
			kubectl sluice join --print-role --kinds deployments.apps | kubectl apply -f -
			kubectl create token sluice-member -n sluice-member --duration 48h

			# Another context of the file than the current one
			kubectl sluice join member1 --cluster-kubeconfig ~/.kube/config --cluster-context prod-eu

			# Sluice runs on another cluster than the hub
			kubectl sluice join member1 --knative-kubeconfig knative.yaml --cluster-kubeconfig member1.yaml`),
		Args: func(cmd *cobra.Command, args []string) error {
			if o.printRole {
				return nil
			}
			return oneArg("NAME")(cmd, args)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.printRole {
				return o.role()
			}
			o.name = args[0]
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&o.file, "cluster-kubeconfig", "", "kubeconfig of the cluster that joins")
	cmd.Flags().StringVar(&o.context, "cluster-context", "", "context in that file (default: its current one)")
	cmd.Flags().BoolVar(&o.wait, "wait", true, "wait until the cluster is ready")
	cmd.Flags().DurationVar(&o.timeout, "timeout", time.Minute, "how long to wait")
	cmd.Flags().BoolVar(&o.printRole, "print-role", false, "print, as YAML, the accounts that a member needs for Sluice, and do nothing else")
	cmd.Flags().StringSliceVar(&o.kinds, "kinds", nil, "with --print-role: the kinds that the account may write, such as deployments.apps (default: those of most applications)")
	o.elsewhere.flag(cmd)
	_ = cmd.MarkFlagFilename("cluster-kubeconfig")
	_ = cmd.RegisterFlagCompletionFunc("cluster-context", completeContexts("cluster-kubeconfig"))
	return cmd
}

// role prints the least rights that a member has to grant.
func (o *joinOptions) role() error {
	kinds := joining.Kinds
	if len(o.kinds) > 0 {
		var err error
		if kinds, err = joining.ParseKinds(o.kinds); err != nil {
			return err
		}
		if err := o.served(kinds); err != nil {
			return err
		}
	}
	doc, err := joining.Role(kinds)
	if err != nil {
		return err
	}
	o.screen.Printf("%s", doc)
	return nil
}

// served refuses kinds that the hub does not serve, or serves under another name: none
// of their objects is ever propagated. If the hub cannot be asked, the role is printed
// all the same.
func (o *joinOptions) served(kinds []schema.GroupResource) error {
	mapper, err := o.mapper()
	if err != nil {
		o.screen.Note("Whether the hub serves these kinds nobody can tell: %v", err)
		return nil
	}
	for _, k := range kinds {
		found, err := mapper.ResourcesFor(k.WithVersion(""))
		switch {
		case meta.IsNoMatchError(err):
			return fmt.Errorf("the hub serves no kind %s: 'kubectl api-resources' lists them", k)
		case err != nil:
			o.screen.Note("Whether the hub serves %s nobody can tell: %v", k, err)
			return nil
		case !slices.ContainsFunc(found, func(f schema.GroupVersionResource) bool { return f.GroupResource() == k }):
			return fmt.Errorf("the hub serves no kind %s, but %s: name that", k, found[0].GroupResource())
		}
	}
	return nil
}

func (o *joinOptions) run(ctx context.Context) error {
	if err := validCluster(o.name); err != nil {
		return err
	}
	if o.file == "" {
		return usagef("--cluster-kubeconfig is missing: it names the kubeconfig of the cluster that joins")
	}
	member, err := joining.Load(o.file, o.context)
	if err != nil {
		return err
	}
	h, err := o.hub()
	if err != nil {
		return err
	}
	clusters, err := h.Clusters(ctx)
	if err != nil {
		return installed(err)
	}
	e, err := o.elsewhere.runsOn(ctx, o.session)
	if err != nil {
		return err
	}
	if known, err := o.joined(clusters, member); err != nil || known != nil {
		if err == nil && e != nil {
			err = errors.Join(e.admit(ctx, o.name), o.contents(ctx)) // an earlier version may have created less
		}
		if err == nil {
			err = o.replace(ctx, e, known, member)
		}
		return err
	}
	id, err := o.check(ctx, clusters, member)
	if err != nil {
		return err
	}
	if err := o.register(ctx, e, member, id); err != nil {
		return err
	}
	o.screen.Printf("%s joined: Kubernetes %s at %s\n", o.name, id.Version, member.Endpoint)
	if len(id.Without) > 0 {
		o.screen.Printf("its credentials may not write %s: such objects are refused by it\n", strings.Join(id.Without, ", "))
	}
	if !o.wait {
		return nil
	}
	return o.ready(ctx, h)
}

// validCluster checks the name, which becomes part of other names.
func validCluster(name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("%q cannot be a cluster's name: %s", name, strings.Join(problems, "; "))
	}
	if len(name) > clusterv1alpha1.MaxNameLength {
		return fmt.Errorf("%q cannot be a cluster's name: it has %d characters, and at most %d are allowed", name, len(name), clusterv1alpha1.MaxNameLength)
	}
	return nil
}

// joined returns the Cluster if this very member has the name already, and nil if the
// name is free; it is an error if another member has it.
func (o *joinOptions) joined(clusters []*clusterv1alpha1.Cluster, member *joining.Credentials) (*clusterv1alpha1.Cluster, error) {
	for _, c := range clusters {
		switch {
		case c.Name != o.name:
		case c.DeletionTimestamp != nil:
			return nil, fmt.Errorf("%s is being unjoined: try again when 'kubectl get clusters.%s %s' finds nothing", o.name, clusterv1alpha1.GroupName, o.name)
		case c.Spec.APIEndpoint == member.Endpoint:
			o.screen.Printf("%s is already joined\n", o.name)
			if c.Annotations[mirroring.AnnotationLeft] != "" {
				o.screen.Printf("its MemberCluster was deleted, so placements pass it by: 'kubectl annotate clusters.%s %s %s-' has it take part again\n",
					clusterv1alpha1.GroupName, o.name, mirroring.AnnotationLeft)
			}
			return c, nil
		default:
			return nil, fmt.Errorf("%s is already joined, with another endpoint: %s and not %s. Choose another name, or '%s unjoin %s' first",
				o.name, c.Spec.APIEndpoint, member.Endpoint, name, o.name)
		}
	}
	return nil, nil
}

// check asks the member, and makes sure that it is not joined under another name.
func (o *joinOptions) check(ctx context.Context, clusters []*clusterv1alpha1.Cluster, member *joining.Credentials) (joining.Identity, error) {
	p := o.screen.Progress()
	defer p.Clear()
	p.Say("asking the cluster at %s", member.Endpoint)
	id, err := member.Check(ctx)
	if err != nil {
		return id, err
	}
	for _, c := range clusters {
		if c.Spec.ID == id.ID {
			return id, fmt.Errorf("this cluster is already joined, under the name %s: '%s unjoin %s' first if it shall be %s", c.Name, name, c.Name, o.name)
		}
	}
	kube, err := o.kube()
	if err != nil {
		return id, err
	}
	own, err := joining.SystemID(ctx, kube)
	if err != nil {
		return id, fmt.Errorf("ask the hub who it is: %w", err)
	}
	if own == id.ID {
		return id, fmt.Errorf("%s leads to the hub itself: name the kubeconfig of another cluster", o.file)
	}
	return id, nil
}

// ready waits until Sluice has found the cluster ready.
func (o *joinOptions) ready(ctx context.Context, h *hub.Hub) error {
	p := o.screen.Progress()
	defer p.Clear()
	why := ""
	err := poll(ctx, o.timeout, func(ctx context.Context) (bool, error) {
		c, err := h.Cluster(ctx, o.name)
		if errors.Is(err, outcome.ErrGone) {
			return false, fmt.Errorf("%s was unjoined meanwhile", o.name)
		}
		if err != nil {
			return false, err
		}
		if cond := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ConditionReady); cond != nil {
			if cond.Status == metav1.ConditionTrue {
				return true, nil
			}
			why = ": " + cond.Message
		}
		p.Say("waiting until %s is ready%s", o.name, why)
		return false, nil
	})
	if errors.Is(err, errTimeout) {
		why = cmp.Or(why, ": nothing has looked at it yet, is Sluice running?")
		return fmt.Errorf("%s is joined and was not ready within %s%s. It stays joined; '%s unjoin %s' takes it back", o.name, o.timeout, why, name, o.name)
	}
	if err == nil {
		p.Clear()
		o.screen.Println(o.name + " is ready")
	}
	return err
}
