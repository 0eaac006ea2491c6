// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/protocol"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"knative.dev/eventing/pkg/adapter/apiserver"
	"knative.dev/eventing/pkg/adapter/v2"
	kubeclient "knative.dev/pkg/client/injection/kube/client"
	"knative.dev/pkg/injection/clients/dynamicclient"
	"knative.dev/pkg/logging"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/function/token"
	"sluice.dev/pkg/member"
)

// Members is the variable that names the folder with a folder for each member, in which
// its kubeconfig is. Empty: the source tells of the one cluster that KUBECONFIG leads to.
const Members = "MEMBERS"

const (
	// kubeconfig is the file in a member's folder.
	kubeconfig = "kubeconfig"
	// rereads is how often a kubeconfig is read again: a token that ends is followed by
	// the next one.
	rereads = 10 * time.Second
	// firstPause is the pause before the adapter of a member is started again after it
	// ended; it doubles each time, up to lastPause.
	firstPause, lastPause = time.Second, time.Minute
)

// NewMembers is an adapter that runs Knative's for each member below the folder that
// Members names.
func NewMembers(ctx context.Context, env adapter.EnvConfigAccessor, broker cloudevents.Client) adapter.Adapter {
	return &fleet{dir: os.Getenv(Members), pause: firstPause, reread: rereads, run: func(ctx context.Context, member string, raw []byte) error {
		return runMember(ctx, env, broker, member, raw)
	}}
}

// Unconnected returns a context with a client of no cluster: Knative's main requires
// one, but each member's adapter has a client of its own.
func Unconnected(ctx context.Context) (context.Context, error) {
	nowhere, err := kubernetes.NewForConfig(&rest.Config{Host: "https://cluster.invalid"})
	if err != nil {
		return nil, fmt.Errorf("make a client of no cluster: %w", err)
	}
	return context.WithValue(ctx, kubeclient.Key{}, kubernetes.Interface(nowhere)), nil
}

// runMember runs Knative's adapter in a member.
func runMember(ctx context.Context, env adapter.EnvConfigAccessor, broker cloudevents.Client, name string, raw []byte) error {
	cfg, client, err := member.Kubeconfig(raw)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	kube, err := kubernetes.NewForConfigAndClient(cfg, client)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	objects, err := dynamic.NewForConfigAndClient(cfg, client)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	hub, err := hubOf(os.Getenv(watchVariable))
	if err != nil {
		return err
	}
	var watched dynamic.Interface = objects
	if hub != "" {
		watched = others{objects, hub}
	}
	cluster := newLenient(kube)
	ctx = context.WithValue(ctx, kubeclient.Key{}, kubernetes.Interface(cluster))
	ctx = context.WithValue(ctx, dynamicclient.Key{}, watched)
	ctx = context.WithValue(ctx, apiserver.Key{}, cfg.Host)
	told := newPaced(of{bearer{broker, token.File}, name}, time.Second)
	watches := apiserver.NewAdapter(ctx, env, told)
	return (&ending{watches, cluster, lookAgain}).Start(ctx)
}

// of sends events of a member.
type of struct {
	cloudevents.Client
	member string
}

// Send says whose event it is.
func (o of) Send(ctx context.Context, e event.Event) protocol.Result {
	e.SetExtension(events.ExtCluster, o.member)
	return o.Client.Send(ctx, e)
}

// fleet is an adapter for each member that has a kubeconfig in dir. None of them waits
// for another, and what ends one ends no other.
type fleet struct {
	dir           string
	pause, reread time.Duration
	// run tells of a member until ctx ends.
	run func(ctx context.Context, member string, kubeconfig []byte) error
}

// Start tells of the members until ctx ends. The list of members is read once:
// a change of it is another pod.
func (f *fleet) Start(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(f.dir, "*", kubeconfig))
	if err != nil {
		return fmt.Errorf("look for members in %s: %w", f.dir, err)
	}
	var all sync.WaitGroup
	for _, file := range files {
		all.Go(func() { f.follow(ctx, filepath.Base(filepath.Dir(file)), file) })
	}
	<-ctx.Done()
	all.Wait()
	return nil
}

// errChanged ends an adapter whose kubeconfig is another by now.
var errChanged = errors.New("its kubeconfig was changed")

// follow runs the adapter of a member, and starts it again whenever it ends, after a
// pause that doubles if it ended soon.
func (f *fleet) follow(ctx context.Context, member, file string) {
	pause := f.pause
	for ctx.Err() == nil {
		began := time.Now()
		err := f.once(ctx, member, file)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errChanged) || time.Since(began) > lastPause {
			pause = f.pause
		}
		logging.FromContext(ctx).Warnw("the adapter of a member ended and is started again", "member", member, "again", pause.String(), "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

// once runs the adapter of a member until it fails or the member's kubeconfig changes.
func (f *fleet) once(ctx context.Context, member, file string) error {
	raw, err := os.ReadFile(file) //nolint:gosec // below the folder that the pod is given
	if err != nil {
		return fmt.Errorf("read its kubeconfig: %w", err)
	}
	return until(ctx, f.reread, func() error {
		if now, err := os.ReadFile(file); err == nil && !bytes.Equal(now, raw) { //nolint:gosec // as above
			return errChanged
		}
		return nil
	}, func(ctx context.Context) error { return f.run(ctx, member, raw) })
}
