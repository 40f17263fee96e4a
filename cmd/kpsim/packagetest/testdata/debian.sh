scripts/package -o dist
sudo dpkg -i dist/kpsim_*.deb
