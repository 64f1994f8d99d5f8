import Linux

public enum Version {
    public static let current = "0.1.0"

    /// The version, with the commit that the Debian package was built from if one is installed.
    public static var withCommit: String {
        let text = KernelFile.read("/usr/share/altnet/commit") ?? ""
        let commit = text.prefix { $0.isHexDigit }
        guard commit.count == 40 else { return current }
        return "\(current) (commit \(commit)\(text.count > 40 ? ", with changes" : ""))"
    }
}
