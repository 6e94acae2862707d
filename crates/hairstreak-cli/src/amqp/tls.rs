//! `TlsArguments`: the CA roots and the certificate of a client, from options, the address or the system.

use std::path::PathBuf;

use clap::Args;
use hairstreak_amqp::{Address, ClientTls, Place, UrlTls};
use hairstreak_transport::tls::{Pem, TlsClient, TlsClientOptions, TlsConfigError, TlsIdentity};

/// TLS, for amqps://.
#[derive(Debug, Default, Args)]
pub struct TlsArguments {
    /// The CA roots for the certificate of the broker, in PEM. [default: the environment's
    /// SSL_CERT_FILE and SSL_CERT_DIR, else the roots of the system]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The certificate of this client, in PEM. Without a user in the address the client logs in by this certificate, if the
    /// broker supports such logins.
    #[arg(long, value_name = "FILE", requires = "certificate_key")]
    certificate: Option<PathBuf>,
    /// The private key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    certificate_key: Option<PathBuf>,
}

impl TlsArguments {
    /// The configuration for an address. None: the address is one without TLS.
    ///
    /// Errors: in one line.
    pub fn client(&self, address: &Address) -> Result<Option<ClientTls>, String> {
        let (Some(url), Place::Tcp { host, .. }) = (&address.tls, &address.place) else {
            return match self.first_given() {
                Some(option) => Err(format!("{option} is for TLS: the address has to begin with amqps://")),
                None => Ok(None),
            };
        };
        let roots = self.ca.as_ref().or(url.ca.as_ref()).map_or(Pem::System, Pem::file);
        let options = TlsClientOptions { identity: self.identity(url)?, ..TlsClientOptions::new(roots) };
        let name = url.server_name.as_deref().unwrap_or(server_name(host));
        let client = TlsClient::load(&options, name).map_err(|error: TlsConfigError| error.to_string())?;
        Ok(Some(ClientTls { client, shows_certificate: options.identity.is_some() }))
    }

    fn identity(&self, url: &UrlTls) -> Result<Option<TlsIdentity>, String> {
        let certificate = self.certificate.as_ref().or(url.certificate.as_ref());
        match (certificate, self.certificate_key.as_ref().or(url.key.as_ref())) {
            (Some(certificate), Some(key)) => {
                Ok(Some(TlsIdentity { certificates: Pem::file(certificate), key: Pem::file(key) }))
            }
            (None, None) => Ok(None),
            (Some(_), None) => {
                Err("a certificate needs its private key: --certificate-key, or keyfile in the address"
                    .into())
            }
            (None, Some(_)) => {
                Err("a private key needs its certificate: --certificate, or certfile in the address".into())
            }
        }
    }

    fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--ca", &self.ca),
            ("--certificate", &self.certificate),
            ("--certificate-key", &self.certificate_key),
        ];
        given.into_iter().find(|(_, file)| file.is_some()).map(|(option, _)| option)
    }
}

/// The name of a host as in its certificate, without the zone of an IPv6 address.
pub fn server_name(host: &str) -> &str {
    host.split('%').next().unwrap_or(host)
}
