import FoundationEssentials
import Glibc

/// The certificate authorities that the programs of this machine trust, and one more while a lab runs.
enum TrustStore {
    private static let path = "/etc/ssl/certs/ca-certificates.crt"

    /// Has everybody trust `certificate` (a PEM file), until `restore`.
    ///
    /// - Parameter directory: for the list that lies over the system's own meanwhile.
    static func add(_ certificate: String, directory: String) throws {
        let trusted = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        let list = "\(directory)/authorities.crt"
        let lists = trusted + (try String(contentsOfFile: certificate, encoding: .utf8))
        try lists.write(toFile: list, atomically: true, encoding: .utf8)
        guard chmod(list, 0o644) == 0, mount(list, path, nil, UInt(MS_BIND), nil) == 0 else {
            throw LabError.lastCall("put \(list) over \(path)")
        }
    }

    /// Makes a certificate for `host` that is signed by itself, and so its own authority (both PEM files).
    static func makeCertificate(
        _ certificate: String, key: String, for host: String, directory: String
    ) throws(LabError) {
        try Program.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                "-subj", "/CN=\(host)", "-addext", "subjectAltName=DNS:\(host)", "-keyout", key, "-out", certificate,
            ], log: "\(directory)/commands.log")
    }

    /// The system's own list again, however often there was something over it.
    static func restore() {
        while umount2(path, Int32(MNT_DETACH)) == 0 {}
    }
}
