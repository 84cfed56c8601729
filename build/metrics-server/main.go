// Command metrics-server is metrics-server put together for the API server's own libraries of this cluster: all that
// scrapes, computes and serves is its own, and only its command line, which wants older libraries, is replaced. It
// compiles what kube-apiserver has compiled already, and so costs seconds.
package main

import (
	"flag"
	"net"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"sigs.k8s.io/metrics-server/pkg/api"
	openapi "sigs.k8s.io/metrics-server/pkg/api/generated/openapi"
	"sigs.k8s.io/metrics-server/pkg/scraper/client"
	"sigs.k8s.io/metrics-server/pkg/server"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how the API server and the kubelet are reached")
	address := flag.String("bind-address", "127.0.0.1", "where metrics are served")
	port := flag.Int("secure-port", 4443, "the port of that")
	certificate := flag.String("tls-cert-file", "", "what it serves with")
	key := flag.String("tls-private-key-file", "", "the key of that")
	resolution := flag.Duration("metric-resolution", 15*time.Second, "how often kubelets are asked")
	klog.InitFlags(nil)
	flag.Parse()
	if err := run(*kubeconfig, net.ParseIP(*address), *port, *certificate, *key, *resolution); err != nil {
		klog.ErrorS(err, "metrics-server ended")
		os.Exit(1)
	}
}

func run(kubeconfig string, address net.IP, port int, certificate, key string, resolution time.Duration) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	serving, err := serve(kubeconfig, address, port, certificate, key)
	if err != nil {
		return err
	}
	complete, err := server.Config{
		Apiserver: serving,
		Rest:      config,
		Kubelet: &client.KubeletClientConfig{
			Scheme:              "https",
			DefaultPort:         10250,
			AddressTypePriority: []corev1.NodeAddressType{corev1.NodeInternalIP},
			Client:              *rest.CopyConfig(config),
		},
		MetricResolution: resolution,
		ScrapeTimeout:    resolution * 9 / 10,
	}.Complete()
	if err != nil {
		return err
	}
	return complete.RunUntil(genericapiserver.SetupSignalHandler())
}

// serve is the API server around it: who asks is told by the cluster's API server, as for every extension.
func serve(kubeconfig string, address net.IP, port int, certificate, key string) (*genericapiserver.Config, error) {
	config := genericapiserver.NewConfig(api.Codecs)
	secure := options.NewSecureServingOptions().WithLoopback()
	secure.BindAddress, secure.BindPort = address, port
	secure.ServerCert.CertKey = options.CertKey{CertFile: certificate, KeyFile: key}
	if err := secure.ApplyTo(&config.SecureServing, &config.LoopbackClientConfig); err != nil {
		return nil, err
	}
	authentication := options.NewDelegatingAuthenticationOptions()
	authentication.RemoteKubeConfigFile = kubeconfig
	if err := authentication.ApplyTo(&config.Authentication, config.SecureServing, nil); err != nil {
		return nil, err
	}
	authorization := options.NewDelegatingAuthorizationOptions()
	authorization.RemoteKubeConfigFile = kubeconfig
	if err := authorization.ApplyTo(&config.Authorization); err != nil {
		return nil, err
	}
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	namer := openapinamer.NewDefinitionNamer(api.Scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIConfig.Info.Title, config.OpenAPIV3Config.Info.Title = "metrics-server", "metrics-server"
	return config, nil
}
