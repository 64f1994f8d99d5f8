import NIOSSL
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Keys of servers in these tests, good for nothing else, with certificates that they signed themselves.
struct TestServerKey: Sendable {
    let key: String
    let certificate: String

    func serverContext() throws -> NIOSSLContext {
        try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: [.certificate(NIOSSLCertificate(bytes: Array(certificate.utf8), format: .pem))],
                privateKey: .privateKey(NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem))))
    }

    /// Calls `body` with a file that holds the certificate.
    func withCertificateFile<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        var path = Array("/tmp/altnet-certificate-XXXXXX".utf8CString)
        let descriptor = mkstemp(&path)
        try #require(descriptor >= 0)
        defer {
            close(descriptor)
            unlink(path)
        }
        let bytes = Array(certificate.utf8)
        try #require(write(descriptor, bytes, bytes.count) == bytes.count)
        return try await body(path.withUnsafeBufferPointer { String(cString: Array($0)) })
    }

    /// For 127.0.0.1 and localhost.
    static let loopback = TestServerKey(
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgWg3p658ZuEf/pCxa
            YXq9PIIluNOh7HOGvBCM5ReKEyyhRANCAARojbPZueBfa1/BFiG9Pa4Cq/P7ccIv
            7WEmhBsAHk2LJq3KgA0HLL8AxGa7ecX7ERyyooZj8/1i5eztwp2pEHvZ
            -----END PRIVATE KEY-----
            """,
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBXzCCAQWgAwIBAgIUa+BVMFxyWB2B15FCv0dHpd92gQ0wCgYIKoZIzj0EAwIw
            FjEUMBIGA1UEAwwLYWx0bmV0IHRlc3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAx
            MDEwMDAwMDBaMBYxFDASBgNVBAMMC2FsdG5ldCB0ZXN0MFkwEwYHKoZIzj0CAQYI
            KoZIzj0DAQcDQgAEaI2z2bngX2tfwRYhvT2uAqvz+3HCL+1hJoQbAB5NiyatyoAN
            Byy/AMRmu3nF+xEcsqKGY/P9YuXs7cKdqRB72aMvMC0wGgYDVR0RBBMwEYcEfwAA
            AYIJbG9jYWxob3N0MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIh
            AJBgk0LZEr3fVeCJNLefPCtaTNKlaq5w1NLNkXc+cpTSAiB1BXuWokANZliXxJ0/
            IfkeokBE4uXmfKCf8914hwiMhw==
            -----END CERTIFICATE-----
            """)

    /// For 192.0.2.1 and portal.example.
    static let elsewhere = TestServerKey(
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgmXOJIJvLHnO/bRka
            ytzLTvtEcsGXOMQBh7vblVeiYmShRANCAAT0ji8WVw9o7j+C9ibFabckC015CxMF
            RNJiyn6bobaUo0lewxSZk9avRWwz1BS4/JFV7UTknnluCdB1AC2zYHPv
            -----END PRIVATE KEY-----
            """,
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBZDCCAQqgAwIBAgIUYSsRvBFV/ZUgrSn5AgqxehL/EiswCgYIKoZIzj0EAwIw
            FjEUMBIGA1UEAwwLYWx0bmV0IHRlc3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAx
            MDEwMDAwMDBaMBYxFDASBgNVBAMMC2FsdG5ldCB0ZXN0MFkwEwYHKoZIzj0CAQYI
            KoZIzj0DAQcDQgAE9I4vFlcPaO4/gvYmxWm3JAtNeQsTBUTSYsp+m6G2lKNJXsMU
            mZPWr0VsM9QUuPyRVe1E5J55bgnQdQAts2Bz76M0MDIwHwYDVR0RBBgwFocEwAAC
            AYIOcG9ydGFsLmV4YW1wbGUwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNI
            ADBFAiEAlwIuJ1faLWEutAMkBmPWYAYvxpwsvNXv/yvEI4hhpy8CIGL7G4J0ToUC
            iHv2nJ1fDimtvq9mcGr1+2pfZHVWFsST
            -----END CERTIFICATE-----
            """)
}
