import AgentModel
import FoundationEssentials
import Glibc

/// The server of a network with IEEE 802.1X, as hostapd has it built in: an authority, the server's certificate by it,
/// and one user with a password and a certificate. All of it is made up for one scenario.
public struct EnterpriseServer: Sendable {
    private let folder: String
    private let commandLog: String

    public static let name = "radius.lab.example"
    public static let identity = "board7"
    public static let password = "right-password"

    /// - Parameter days: how long its certificate is valid from now on; a negative number for one that has expired.
    public init(in lab: Lab, named label: String = "server", validFor days: Int = 30) throws {
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

    /// The lines of hostapd.conf for a network with it.
    public var settings: [String] {
        [
            "wpa=2", "wpa_key_mgmt=WPA-EAP", "rsn_pairwise=CCMP", "ieee8021x=1", "ieee80211w=1", "eap_server=1",
            "eap_user_file=\(folder)/users", "ca_cert=\(folder)/ca.pem", "server_cert=\(folder)/server.pem",
            "private_key=\(folder)/server.key",
        ]
    }

    /// The path of its authority's certificate.
    public var authority: String { "\(folder)/ca.pem" }

    /// The user's credential.
    /// - Parameters:
    ///   - password: another than the user's, to be refused.
    ///   - trusting: another server, whose authority has not signed this one.
    public func credential(
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

/// The clock of the machine, as a board without a battery has it. A scenario puts it right again.
public enum LabClock {
    /// systemd-timesyncd's mark that the time is known.
    private static let mark = "/run/systemd/timesync/synchronized"

    /// Whether the device knows that the time is right.
    public static func isKnown(_ isKnown: Bool) throws {
        if isKnown {
            try FileManager.default.createDirectory(
                atPath: "/run/systemd/timesync", withIntermediateDirectories: true)
            try Lab.write("", to: mark)
        } else if access(mark, F_OK) == 0 {
            try FileManager.default.removeItem(atPath: mark)
        }
    }

    /// Moves the clock, by seconds.
    public static func move(by seconds: Int) throws(LabError) {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        now.tv_sec += seconds
        guard clock_settime(CLOCK_REALTIME, &now) == 0 else { throw .lastCall("set the clock") }
    }

    /// Seconds since 1970.
    public static var time: Int {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return now.tv_sec
    }
}
