import AgentModel
import FoundationEssentials
import Glibc

@testable import Lab

/// Server of a network with IEEE 802.1X, built into hostapd. Each scenario has its own authority, server certificate,
/// and one user with password and certificate.
struct EnterpriseServer: Sendable {
    private let folder: String
    private let commandLog: String

    static let name = "radius.lab.example"
    static let identity = "board7"
    static let password = "right-password"

    /// - Parameter days: validity of its certificate from now on. Negative for an expired one.
    init(in lab: Lab, named label: String = "server", validFor days: Int = 30) throws {
        folder = "\(lab.directory)/\(label)"
        commandLog = "\(lab.directory)/commands.log"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try openssl(
            ["req", "-x509"] + Self.newKey + [
                "-days", "3650", "-subj", "/CN=authority of \(label)", "-keyout", "\(folder)/ca.key", "-out",
                "\(folder)/ca.pem",
            ])
        try sign("server", "/CN=\(Self.name)", days, "subjectAltName=DNS:\(Self.name)\nextendedKeyUsage=serverAuth\n")
        try sign("client", "/CN=\(Self.identity)", 30, "extendedKeyUsage=clientAuth\n")
        try Lab.write(
            """
            * PEAP,TTLS,TLS
            "\(Self.identity)" MSCHAPV2,TTLS-PAP,TTLS-MSCHAPV2 "\(Self.password)" [2]

            """, to: "\(folder)/users")
    }

    /// Lines of hostapd.conf for a network with this server.
    var settings: [String] {
        [
            "wpa=2", "wpa_key_mgmt=WPA-EAP", "rsn_pairwise=CCMP", "ieee8021x=1", "ieee80211w=1", "eap_server=1",
            "eap_user_file=\(folder)/users", "ca_cert=\(folder)/ca.pem", "server_cert=\(folder)/server.pem",
            "private_key=\(folder)/server.key",
        ]
    }

    var authority: String { "\(folder)/ca.pem" }

    /// The user's credential.
    /// - Parameters:
    ///   - password: a wrong one will be refused.
    ///   - trusting: server with another authority, so that this one is not trusted.
    func credential(
        _ method: EnterpriseCredential.Method, inner: EnterpriseCredential.Inner? = nil,
        password: String = password, trusting other: EnterpriseServer? = nil, serverName: String? = name
    ) throws -> EnterpriseCredential {
        let isTLS = method == .tls
        return try EnterpriseCredential(
            method: method, inner: inner, identity: Self.identity,
            anonymousIdentity: isTLS ? nil : "anonymous", password: isTLS ? nil : Secret(text: password),
            clientCertificate: isTLS ? text("client.pem") : nil,
            privateKey: isTLS ? Secret(text: text("client.key")) : nil,
            caCertificate: (other ?? self).text("ca.pem"), serverName: serverName)
    }

    private func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
    }

    private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

    private func sign(_ name: String, _ subject: String, _ days: Int, _ extensions: String) throws {
        try Lab.write(extensions, to: "\(folder)/\(name).ext")
        try openssl(
            ["req", "-new"] + Self.newKey
                + ["-subj", subject, "-keyout", "\(folder)/\(name).key", "-out", "\(folder)/\(name).csr"])
        try openssl([
            "x509", "-req", "-in", "\(folder)/\(name).csr", "-CA", "\(folder)/ca.pem", "-CAkey", "\(folder)/ca.key",
            "-CAcreateserial", "-days", "\(days)", "-extfile", "\(folder)/\(name).ext", "-out", "\(folder)/\(name).pem",
        ])
    }

    private func openssl(_ arguments: [String]) throws(LabError) {
        try Program.run("openssl", arguments, log: commandLog)
    }
}

/// The machine's clock, like on a board without a battery. A scenario must restore it.
enum LabClock {
    /// File with which systemd-timesyncd marks the clock as synchronized.
    private static let mark = "/run/systemd/timesync/synchronized"

    static func isKnown(_ isKnown: Bool) throws {
        if isKnown {
            try FileManager.default.createDirectory(
                atPath: "/run/systemd/timesync", withIntermediateDirectories: true)
            try Lab.write("", to: mark)
        } else if access(mark, F_OK) == 0 {
            try FileManager.default.removeItem(atPath: mark)
        }
    }

    static func move(by seconds: Int) throws(LabError) {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        now.tv_sec += seconds
        guard clock_settime(CLOCK_REALTIME, &now) == 0 else { throw .lastCall("set the clock") }
    }

    /// Current time in seconds since 1970.
    static var time: Int {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return now.tv_sec
    }
}
