//! Random bytes from the system, fetched a block at a time: salts and nonces of many records cost one system call.

use zeroize::Zeroizing;

const BLOCK: usize = 4096;

/// Random bytes not yet used. Each is given out once and wiped here.
pub(crate) struct RandomPool {
    block: Zeroizing<[u8; BLOCK]>,
    used: usize,
}

impl Default for RandomPool {
    fn default() -> Self {
        Self { block: Zeroizing::new([0; BLOCK]), used: BLOCK }
    }
}

impl RandomPool {
    /// The next `N` random bytes.
    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], getrandom::Error> {
        let mut taken = [0; N];
        if self.used + N > BLOCK {
            getrandom::fill(&mut *self.block)?;
            self.used = 0;
        }
        if let Some(next) = self.block.get_mut(self.used..self.used + N) {
            taken.copy_from_slice(next);
            next.fill(0);
            self.used += N;
            return Ok(taken);
        }
        // More than a block.
        getrandom::fill(&mut taken)?;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::RandomPool;

    #[test]
    fn no_bytes_are_given_out_twice_and_none_are_left_blank() {
        let mut pool = RandomPool::default();
        let taken: BTreeSet<[u8; 24]> = (0..10_000).map(|_| pool.take().unwrap()).collect();
        assert_eq!(taken.len(), 10_000);
        assert!(!taken.contains(&[0; 24]));
        assert_ne!(pool.take::<5000>().unwrap(), [0; 5000]);
    }
}
