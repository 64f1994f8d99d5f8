extension Double {
    /// With this many decimals.
    public func rounded(_ decimals: Int) -> String {
        guard isFinite else { return "-" }
        let scale = (0..<decimals).reduce(1.0) { scale, _ in scale * 10 }
        let value = (self * scale).rounded() / scale
        return decimals == 0 ? "\(Int(value))" : "\(value)"
    }
}
