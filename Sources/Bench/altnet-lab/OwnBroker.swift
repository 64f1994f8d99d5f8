import Foundation

/// A mosquitto for this process only. It ends with this process, even if a signal kills this process.
final class OwnBroker {
    private let folder: String
    /// Port of the broker, below the range of ephemeral ports.
    private let port = 20_000 + Int(getpid() % 10_000)
    private let isEncrypted: Bool
    private var process: Process?

    var address: String { "\(isEncrypted ? "mqtts" : "mqtt")://127.0.0.1:\(port)" }
    /// Path of the broker's self-signed certificate; nil without TLS.
    var authorities: String? { isEncrypted ? folder + "/certificate.pem" : nil }

    init(isEncrypted: Bool) throws {
        self.isEncrypted = isEncrypted
        folder = NSTemporaryDirectory() + "altnet-fleet-\(getpid())"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        // mosquitto must stay root. After a change of user, the kernel would not end it with this process.
        var settings = """
            user root
            listener \(port) 127.0.0.1
            allow_anonymous true
            max_connections -1
            persistence false
            max_queued_messages 0

            """
        if isEncrypted {
            try makeCertificate()
            settings += """
                certfile \(folder)/certificate.pem
                keyfile \(folder)/key.pem
                tls_version tlsv1.3

                """
        }
        try settings.write(toFile: folder + "/mosquitto.conf", atomically: true, encoding: .utf8)
    }

    private func makeCertificate() throws {
        let openssl = Process()
        openssl.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        openssl.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder + "/key.pem",
            "-out", folder + "/certificate.pem",
        ]
        (openssl.standardOutput, openssl.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        try openssl.run()
        openssl.waitUntilExit()
        guard openssl.terminationStatus == 0 else {
            throw FleetFailure(text: "openssl could not make a certificate: check that it is installed")
        }
    }

    func start() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        process.arguments = ["--pdeathsig", "KILL", "/usr/sbin/mosquitto", "-c", folder + "/mosquitto.conf"]
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        try process.run()
        usleep(300_000)
        guard process.isRunning else {
            throw FleetFailure(text: "mosquitto did not start, check that it is installed and the port free: \(port)")
        }
        self.process = process
    }

    func kill() {
        guard let process else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        self.process = nil
    }

    func end() {
        kill()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
