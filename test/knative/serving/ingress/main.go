// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command ingress is the smallest thing that keeps Knative Serving's contract
// for an ingress: it watches networking.internal.knative.dev Ingresses of its
// class, proxies HTTP to the revisions' Services by host, path, header and
// percentage, and marks the Ingresses ready. It stands in for Kourier, whose
// Envoy cannot be had from a Go module. One replica, no TLS, no h2c.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"knative.dev/networking/pkg/apis/networking"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/networking/pkg/client/clientset/versioned"
	"knative.dev/networking/pkg/client/informers/externalversions"
	listers "knative.dev/networking/pkg/client/listers/networking/v1alpha1"
)

// table maps a host to the paths of its rule.
type table map[string][]v1alpha1.HTTPIngressPath

// ingress is the program.
type ingress struct {
	class, service string
	client         versioned.Interface
	lister         listers.IngressLister
	routes         atomic.Pointer[table]
	changed        chan struct{}
	transport      http.RoundTripper
}

func main() {
	in := &ingress{
		changed: make(chan struct{}, 1),
		// A new connection costs a lookup, too, so a few are kept; only a few, for
		// new ones are what leads to pods that have just started.
		transport: &http.Transport{
			MaxIdleConnsPerHost: 4,
			IdleConnTimeout:     10 * time.Second,
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second, Control: impatient}).DialContext,
		},
	}
	flag.StringVar(&in.class, "class", "sluice-test.ingress.networking.knative.dev", "ingress class to serve")
	flag.StringVar(&in.service, "service", "ingress.knative-serving.svc.cluster.local", "domain name under which this program is reached")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := in.run(ctx); err != nil && !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

// impatient ends a connection that nobody acknowledges: the one that was kept may
// lead to a pod that is gone. Whoever sent the request sends it again.
func impatient(_, _ string, c syscall.RawConn) error {
	const milliseconds = 2000
	var set error
	err := c.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, milliseconds)
	})
	return errors.Join(err, set)
}

func (in *ingress) run(ctx context.Context) error {
	if err := in.watch(ctx); err != nil {
		return err
	}
	go in.follow(ctx)
	srv := &http.Server{Addr: ":8080", Handler: in, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = srv.Shutdown(wait)
	}()
	return srv.ListenAndServe()
}

// watch keeps the lister up to date.
func (in *ingress) watch(ctx context.Context) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	if in.client, err = versioned.NewForConfig(config); err != nil {
		return err
	}
	in.routes.Store(&table{})
	factory := externalversions.NewSharedInformerFactory(in.client, time.Minute)
	ingresses := factory.Networking().V1alpha1().Ingresses()
	in.lister = ingresses.Lister()
	if _, err := ingresses.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { in.notify() },
		UpdateFunc: func(_, _ any) { in.notify() },
		DeleteFunc: func(any) { in.notify() },
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return nil
}

func (in *ingress) notify() {
	select {
	case in.changed <- struct{}{}:
	default:
	}
}

// follow makes routes of what changed.
func (in *ingress) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-in.changed:
		}
		all, err := in.lister.List(labels.Everything())
		if err != nil {
			log.Print(err)
			continue
		}
		next := table{}
		var mine []*v1alpha1.Ingress
		for _, ing := range all {
			if ing.Annotations[networking.IngressClassAnnotationKey] != in.class || ing.DeletionTimestamp != nil {
				continue
			}
			mine = append(mine, ing)
			next.add(ing)
		}
		in.routes.Store(&next) // before any Ingress is called ready
		for _, ing := range mine {
			if err := markReady(ctx, in.client, ing, in.service); err != nil {
				log.Printf("%s/%s: %v", ing.Namespace, ing.Name, err)
				time.AfterFunc(time.Second, in.notify)
			}
		}
	}
}

func (t table) add(ing *v1alpha1.Ingress) {
	for _, rule := range ing.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for _, host := range rule.Hosts {
			t[host] = append(t[host], rule.HTTP.Paths...)
		}
	}
}

// ServeHTTP takes a request where its host and path lead.
func (in *ingress) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	path := match((*in.routes.Load())[host], r)
	if path == nil {
		http.Error(w, "no route for "+host, http.StatusNotFound)
		return
	}
	split := pick(path.Splits)
	target := &url.URL{Scheme: "http", Host: net.JoinHostPort(split.ServiceName+"."+split.ServiceNamespace+".svc.cluster.local.", split.ServicePort.String())}
	(&httputil.ReverseProxy{Transport: in.transport, Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(target)
		p.SetXForwarded()
		p.Out.Host = r.Host
		if path.RewriteHost != "" {
			p.Out.Host = path.RewriteHost
		}
		for _, headers := range []map[string]string{path.AppendHeaders, split.AppendHeaders} {
			for k, v := range headers {
				p.Out.Header.Set(k, v)
			}
		}
	}}).ServeHTTP(w, r)
}

// match finds the first path whose prefix and headers the request has; those
// with headers (a revision's tag) are tried before those without.
func match(paths []v1alpha1.HTTPIngressPath, r *http.Request) *v1alpha1.HTTPIngressPath {
	for _, withHeaders := range []bool{true, false} {
	next:
		for i := range paths {
			p := &paths[i]
			if (len(p.Headers) > 0) != withHeaders || !strings.HasPrefix(r.URL.Path, p.Path) {
				continue
			}
			for k, want := range p.Headers {
				if r.Header.Get(k) != want.Exact {
					continue next
				}
			}
			return p
		}
	}
	return nil
}

func pick(splits []v1alpha1.IngressBackendSplit) v1alpha1.IngressBackendSplit {
	n := rand.IntN(100)
	for _, s := range splits {
		if n -= s.Percent; n < 0 {
			return s
		}
	}
	return splits[len(splits)-1]
}

func markReady(ctx context.Context, client versioned.Interface, ing *v1alpha1.Ingress, service string) error {
	if ing.IsReady() && ing.Status.ObservedGeneration == ing.Generation {
		return nil
	}
	ing = ing.DeepCopy()
	lb := []v1alpha1.LoadBalancerIngressStatus{{DomainInternal: service}}
	ing.Status.InitializeConditions()
	ing.Status.MarkNetworkConfigured()
	ing.Status.MarkLoadBalancerReady(lb, lb)
	ing.Status.ObservedGeneration = ing.Generation
	_, err := client.NetworkingV1alpha1().Ingresses(ing.Namespace).UpdateStatus(ctx, ing, metav1.UpdateOptions{})
	return err
}
