// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The members that every test may use.
var members = []string{"member1", "member2", "member3"}

// timeout of everything that has to happen; SLUICE_E2E_TIMEOUT says another.
var timeout = patience(os.Getenv("SLUICE_E2E_TIMEOUT"))

func patience(said string) time.Duration {
	if said == "" {
		return time.Minute
	}
	d, err := time.ParseDuration(said)
	if err != nil {
		panic("SLUICE_E2E_TIMEOUT: " + err.Error())
	}
	return d
}

const systemNamespace = "sluice-system"

// slots is how many scenarios run at once, unless -parallel says it: they wait most of
// the time, and more of them than a small machine can serve would wait for each other.
var slots = 12

// lab is the hub, the members, and what the scenarios share.
type lab struct {
	dir      string
	hub      *cluster
	clusters map[string]*cluster
	gates    *gates
	// begun are the namespaces of this run's scenarios.
	begun sync.Map
}

var (
	theLab *lab
	// noLab says why there is none.
	noLab error
)

// labVariable says where the lab is.
const labVariable = "SLUICE_E2E_DIR"

func TestMain(m *testing.M) {
	flag.Parse()
	parallel := flag.Lookup("test.parallel")
	if n, err := strconv.Atoi(parallel.Value.String()); err == nil && parallel.Value.String() != parallel.DefValue {
		slots = n
	}
	// Who waits for his gates does not take anybody's turn (gates).
	if err := parallel.Value.Set("100000"); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	theLab, noLab = connect(ctx, os.Getenv(labVariable))
	if noLab != nil {
		fmt.Fprintln(os.Stderr, "e2e: no test can run:", noLab)
	}
	worry(ctx, os.Getenv("SLUICE_E2E_CHAOS"))
	code := m.Run()
	if theLab != nil {
		code = max(code, theLab.finish(ctx))
	}
	cancel()
	os.Exit(code)
}

// connect finds the lab in dir and makes sure that the pipeline has joined its
// members.
func connect(ctx context.Context, dir string) (*lab, error) {
	if dir == "" {
		dir = "../../_output"
	}
	l := &lab{dir: dir, clusters: map[string]*cluster{}}
	for _, name := range append([]string{"hub"}, members...) {
		file := filepath.Join(dir, "kubeconfig", name)
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("no lab is up, 'make run' starts one (SLUICE_E2E_DIR says where it is): %w", err)
		}
		c, err := open(ctx, name, file)
		if err != nil {
			return nil, fmt.Errorf("kubeconfig of %s: %w", name, err)
		}
		l.clusters[name] = c
	}
	l.hub = l.clusters["hub"]
	l.gates = newGates(l)
	var err error
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); pause(ctx, 200*time.Millisecond) {
		if err = l.joined(ctx); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("the lab in %s does not work: %w", dir, err)
}

// joined asks whether every member has a Cluster that is ready.
func (l *lab) joined(ctx context.Context) error {
	for _, name := range members {
		c, err := l.hub.on(clusters, "").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("get Cluster %s: %w", name, err)
		}
		if cond := conditionOf(c.Object, "Ready"); text(cond, "status") != "True" {
			return fmt.Errorf("cluster %s is not Ready: %v", name, cond)
		}
		m, err := l.hub.on(memberClusters, "").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("get MemberCluster %s: %w", name, err)
		}
		if cond := conditionOf(m.Object, "Joined"); text(cond, "status") != "True" {
			return fmt.Errorf("member %s is not Joined: %v", name, cond)
		}
	}
	return nil
}

// finish puts the gates back, and looks for what scenarios left behind: a
// scenario that is gone must leave no Work.
func (l *lab) finish(ctx context.Context) int {
	if err := l.gates.set(ctx, gatesOff); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: gates:", err)
	}
	if os.Getenv("SLUICE_E2E_KEEP") != "" {
		return 0
	}
	defer l.leave(ctx)
	var err error
	for deadline := time.Now().Add(6 * timeout); time.Now().Before(deadline); pause(ctx, 200*time.Millisecond) {
		if err = l.leftover(); err == nil {
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, "e2e: scenarios are over and left something behind:", err)
	return 1
}

// leave has the members delete the scenarios' namespaces, which nobody waits for:
// each takes an API server some fifty requests, and most labs end with the run.
func (l *lab) leave(ctx context.Context) {
	l.begun.Range(func(ns, _ any) bool {
		for _, m := range members {
			err := l.clusters[m].on(namespaces, "").Delete(ctx, ns.(string), metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				fmt.Fprintf(os.Stderr, "e2e: clean up namespace %s in %s: %v\n", ns, m, err)
			}
		}
		return true
	})
}

// leftover tells of Works of this run's scenarios, all of which are over.
func (l *lab) leftover() error {
	var errs []error
	for _, m := range l.hub.all() {
		if m.resource != works && m.resource != bindings && m.resource != clusterBindings {
			continue
		}
		m.mu.Lock()
		for key, o := range m.objects {
			if _, ours := l.begun.Load(scenarioOf(o)); ours {
				errs = append(errs, errors.New(m.resource.kind+" "+key))
			}
		}
		m.mu.Unlock()
	}
	return errors.Join(errs...)
}

// cluster is one API server.
type cluster struct {
	name   string
	ctx    context.Context //nolint:containedctx // the mirrors live as long as the run
	config *rest.Config
	client dynamic.Interface
	// metadata of objects, without their content.
	metadata metadata.Interface

	mu      sync.Mutex
	mirrors map[resource]*mirror
}

func open(ctx context.Context, name, kubeconfig string) (*cluster, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	cfg.QPS = -1
	cfg.UserAgent = "sluice-e2e"
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	md, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return &cluster{name: name, ctx: ctx, config: cfg, client: client, metadata: md, mirrors: map[resource]*mirror{}}, nil
}

// on is the client of a kind in a namespace; an empty one for kinds that have
// none.
func (c *cluster) on(r resource, namespace string) dynamic.ResourceInterface {
	if r.clusterScoped {
		return c.client.Resource(r.gvr())
	}
	return c.client.Resource(r.gvr()).Namespace(namespace)
}

// mirror of a kind, which is started where it is not yet. It is empty as long as
// the cluster does not serve the kind.
func (c *cluster) mirror(r resource) *mirror {
	c.mu.Lock()
	m := c.mirrors[r]
	if m == nil {
		m = newMirror(c.ctx, c.name, r, c.client, c.metadata)
		c.mirrors[r] = m
	}
	c.mu.Unlock()
	<-m.tried
	return m
}

// drop ends the mirror of a kind that is no longer served.
func (c *cluster) drop(r resource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.mirrors[r]; m != nil {
		m.stop()
		delete(c.mirrors, r)
	}
}

// all are the mirrors that are running.
func (c *cluster) all() []*mirror {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*mirror
	for _, m := range c.mirrors {
		out = append(out, m)
	}
	return out
}
